package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ownedSettings are settings of the runtimes that config-extra-args may not have, with the key of deploy.yaml that sets
// them, if one does: where the runtime keeps what a cleanup takes away, where the kubelet finds it, how it hands out
// cgroups and networks.
func ownedSettings(runtime string) map[string]string {
	switch runtime {
	case "docker":
		return map[string]string{
			"data-root": "", "graph": "", "exec-root": "", "pidfile": "", "hosts": "", "containerd": "",
			"exec-opts": "", "bridge": "", "iptables": "", "ip-masq": "",
			"registry-mirrors": "registry-mirrors", "insecure-registries": "insecure-registries",
		}
	case "isulad":
		return map[string]string{
			"hosts": "runtime-endpoint", "graph": "", "state": "", "pidfile": "", "pod-sandbox-image": "pause-image",
			"network-plugin": "", "cni-bin-dir": "cni-bin-dir",
			"cni-conf-dir": "", "enable-cri-v1": "", "systemd-cgroup": "", "registry-mirrors": "registry-mirrors",
			"insecure-registries": "insecure-registries",
		}
	}
	return map[string]string{
		"version": "", "root": "", "state": "", "plugins": "", "grpc.address": "runtime-endpoint",
		"cri.sandbox_image": "pause-image", "images.pinned_images.sandbox": "pause-image",
		"cri.registry.config_path": "registry-mirrors", "images.registry.config_path": "registry-mirrors",
		"cri.cni.bin_dir": "cni-bin-dir", "cri.cni.bin_dirs": "cni-bin-dir",
		"cri.cni.conf_dir": "", "cri.containerd.runtimes.runc.options.SystemdCgroup": "",
	}
}

// checkEngine refuses settings of the runtime that are ours, and tables that they stand in.
func (l *loader) checkEngine() {
	owned := ownedSettings(l.c.Runtime)
	for i, e := range l.c.ExtraArgs {
		if e.Component != "container-engine" {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(e.Args)) {
			instead, is := owned[name]
			for _, o := range slices.Sorted(maps.Keys(owned)) {
				is = is || strings.HasPrefix(o, name+".")
			}
			key := fmt.Sprintf("config-extra-args[%d].extra-args.%s", i, name)
			switch {
			case !is:
			case instead != "":
				l.errAt(l.where(key), key, "config.owned-key", "value", name, "instead", instead)
			default:
				l.errAt(l.where(key), key, "config.owned-flag", "value", name)
			}
		}
	}
}
