package report

import (
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

// sign is what a machine says when something that happens often has happened. All parts of one of the lists stand in
// one line.
type sign struct {
	cause event.Msg // its advice is the same key with ".do"
	says  []string  // in small letters; "a+b": both
}

func signs() []sign {
	return []sign{
		{event.M("likely.disk-full"), []string{"no space left on device", "disk quota exceeded",
			"you don't have enough free space"}},
		{event.M("likely.read-only"), []string{"read-only file system"}},
		{event.M("likely.disk-broken"), []string{"input/output error", "structure needs cleaning"}},
		{event.M("likely.memory"), []string{"out of memory", "cannot allocate memory", "oom-kill", "oomkilled"}},
		{event.M("likely.package-lock"), []string{"could not get lock", "waiting for cache lock",
			"is another process using it", "existing lock /var/run/yum.pid", "waiting for process with pid"}},
		{event.M("likely.package-broken"), []string{"dpkg was interrupted", "unmet dependencies",
			"error processing package", "rpmdb open failed", "nothing provides", "conflicting requests"}},
		{event.M("likely.clock"), []string{"certificate+not yet valid", "x509: certificate has expired",
			"release file+not valid yet", "clock skew"}},
		{event.M("likely.certificate"), []string{"x509:", "certificate signed by unknown authority",
			"tls: bad certificate", "certificate verify failed"}},
		{event.M("likely.port-taken"), []string{"address already in use", "bind: permission denied"}},
		{event.M("likely.damaged"), []string{"hash sum mismatch", "checksum mismatch", "digest mismatch",
			"unexpected eof", "corrupted", "invalid tar header", "gzip: invalid header"}},
		{event.M("likely.swap"), []string{"running with swap on is not supported", "swap+not supported"}},
		{event.M("likely.cgroup"), []string{"cgroup driver", "misconfiguration: kubelet cgroup",
			"failed to find subsystem mount", "cgroup+mountpoint does not exist"}},
		{event.M("likely.kernel-module"), []string{"modprobe: fatal", "module+not found in directory",
			"iptables+table does not exist", "operation not supported"}},
		{event.M("likely.no-route"), []string{"no route to host", "network is unreachable"}},
		{event.M("likely.refused"), []string{"connection refused"}},
		{event.M("likely.timeout"), []string{"i/o timeout", "connection timed out", "context deadline exceeded",
			"operation timed out"}},
		{event.M("likely.name"), []string{"no such host", "name or service not known",
			"temporary failure in name resolution", "server misbehaving"}},
		{event.M("likely.sudo"), []string{"is not in the sudoers file", "sudo: a password is required",
			"sudo: no tty"}},
		{event.M("likely.denied"), []string{"permission denied", "operation not permitted", "access denied"}},
		{event.M("likely.setting"), []string{"error parsing", "failed to parse", "invalid value",
			"invalid argument+flag", "unknown flag", "unrecognized feature gate", "quantities must match",
			"unknown unit+in duration"}},
		{event.M("likely.no-command"), []string{"command not found", "exec format error",
			"no such file or directory+exec"}},
	}
}

// Likely says what probably lies behind a failure and what helps: by the full disks that were found, else by what the
// machine said: the fault's own cause first, then its last lines, the newest first. false: nobody knows.
func Likely(f *event.Fault, lines []state.Line) (cause, do event.Msg, ok bool) {
	if full := f.Args[event.FullDisks]; full != "" {
		return event.M("likely.disk-full-at", "path", full), event.M("likely.disk-full-at.do", "path", full), true
	}
	if f.Code == "ssh.disk-full" {
		return event.M("likely.disk-full"), event.M("likely.disk-full.do"), true
	}
	said := []string{f.Cause}
	for i := len(lines) - 1; i >= 0; i-- {
		said = append(said, lines[i].Text)
	}
	all := signs()
	for _, text := range said {
		text = strings.ToLower(text)
		for _, s := range all {
			for _, say := range s.says {
				if hasAll(text, say) {
					return s.cause, event.M(s.cause.Key + ".do"), true
				}
			}
		}
	}
	return event.Msg{}, event.Msg{}, false
}

func hasAll(text, parts string) bool {
	for p := range strings.SplitSeq(parts, "+") {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}
