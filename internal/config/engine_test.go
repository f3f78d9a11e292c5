package config

import "testing"

// What of a runtime's settings is ours cannot be set beside it, whatever table it is put into; others can.
func TestSettingsOfTheRuntimeThatAreOurs(t *testing.T) {
	for _, tc := range []struct{ runtime, setting, want string }{
		{"containerd", "debug.level: info", ""},
		{"containerd", "images.max_concurrent_downloads: 5", ""},
		{"containerd", "cri.max_container_log_line_size: 20000", ""},
		{"containerd", "data-root: /data", ""}, // a word of docker's
		{"containerd", "root: /data", "config.owned-flag"},
		{"containerd", "grpc.address: /run/x.sock", "config.owned-key"},
		{"containerd", "grpc: '{}'", "config.owned-flag"},
		{"containerd", "cri.cni: '{}'", "config.owned-flag"},
		{"containerd", "cri.sandbox_image: x", "config.owned-key"},
		{"containerd", "cri.containerd.runtimes.runc.options.SystemdCgroup: false", "config.owned-flag"},
		{"docker", "log-level: debug", ""},
		{"docker", "default-runtime: lab", ""},
		{"docker", "data-root: /data", "config.owned-flag"},
		{"docker", "exec-opts: '[]'", "config.owned-flag"},
		{"docker", "registry-mirrors: '[]'", "config.owned-key"},
		{"isulad", "log-level: INFO", ""},
		{"isulad", "systemd-cgroup: false", "config.owned-flag"},
		{"isulad", "cni-bin-dir: /x", "config.owned-key"},
	} {
		_, ps := Load([]byte(minimal+"runtime: "+tc.runtime+
			"\nconfig-extra-args: [{name: container-engine, extra-args: {"+tc.setting+"}}]\n"), "f")
		got := ""
		for _, p := range ps {
			if p.Severity == isError {
				got += p.Code
				if p.Line != 11 {
					t.Errorf("%s: told at line %d", tc.setting, p.Line)
				}
			}
		}
		if got != tc.want {
			t.Errorf("%s %s: %q, want %q", tc.runtime, tc.setting, got, tc.want)
		}
		rendered(t, ps)
	}
}
