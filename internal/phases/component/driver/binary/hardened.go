package binary

import (
	"maps"
	"strings"
)

// What components are started with so that an attacker finds less, and nobody else misses anything: docs/security.md
// has each, with its reason. config-extra-args can set every one to something else.
const (
	tlsMin = "VersionTLS12"
	// podPids bounds the processes and threads of a pod: one that forks without end takes no node with it.
	podPids = 4096
)

// cipherSuites are those of TLS 1.2 that have forward secrecy and authenticate what they encrypt; those of TLS 1.3
// always have both. They fit certificates of either kind, for an external CA may have keys of RSA.
func cipherSuites() []string {
	return []string{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
		"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"}
}

// hardened adds the flags that the API server, the controller manager and the scheduler share.
func hardened(flags map[string]string) map[string]string {
	maps.Copy(flags, map[string]string{"profiling": "false", "tls-min-version": tlsMin,
		"tls-cipher-suites": strings.Join(cipherSuites(), ",")})
	return flags
}

// auditFlags have an API server log who asked for what, and keep the log small.
func auditFlags() map[string]string {
	return map[string]string{"audit-policy-file": auditPolicy, "audit-log-path": auditLog, "audit-log-maxage": "30",
		"audit-log-maxbackup": "10", "audit-log-maxsize": "100", "audit-log-compress": "true"}
}
