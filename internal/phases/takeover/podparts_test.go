package takeover

import (
	"strings"
	"testing"
)

// What a static pod has beside what kubeadm writes is named and refused: the pod that Eggo makes would not have it.
func TestPartsOfAStaticPod(t *testing.T) {
	const c0 = "spec.containers[0]."
	for change, want := range map[string]string{
		"  hostNetwork: true|  hostNetwork: true\n  hostAliases: [{ip: 192.0.2.1}]": "spec.hostAliases=…",
		"  hostNetwork: true|  hostNetwork: true\n  initContainers: [{name: x}]":    "spec.initContainers=…",

		"        cpu: 100m|        cpu: 2":                        c0 + "resources.requests.cpu=2",
		"      requests:|      limits: {cpu: 4}\n      requests:": c0 + "resources.limits.cpu=4",
		"failureThreshold: 8|failureThreshold: 20":                c0 + "livenessProbe.failureThreshold=20",

		"    image:|    securityContext: {privileged: true}\n    image:":         c0 + "securityContext.privileged=true",
		"    image:|    lifecycle: {preStop: {sleep: {seconds: 9}}}\n    image:": c0 + "lifecycle.preStop.sleep.seconds=9",

		"      type: RuntimeDefault|      type: Unconfined":            "spec.securityContext.seccompProfile.type=Unconfined",
		"    tier: control-plane|    tier: control-plane\n    team: a": "metadata.labels.team=a",

		"failureThreshold: 24|failureThreshold: 60": "", "port: probe-port|port: 10259": "", "status: {}|": "",
	} {
		old, fresh, _ := strings.Cut(change, "|")
		c := cluster(t)
		with(scheduler, old, fresh)(c)
		taken := c.Take(wanted())
		var parts string
		for _, f := range taken.Findings {
			parts = f.Fault.Args["parts"]
		}
		if (found(taken) == "error import.pod") != (want != "") || parts != want {
			t.Errorf("%s: %q %q, want %q", change, found(taken), parts, want)
		}
	}
}
