package phases

import "k8s.io/klog/v2"

// Quiet keeps the Kubernetes libraries from writing to stderr by themselves, and so over the screen: what goes wrong comes back as errors, and is
// told as faults. Their logger is one for the process, so main calls it once, before anything else.
func Quiet() {
	klog.SetLogger(klog.Logger{}) // whatever its output is set to, klog's own writes errors to stderr too
}
