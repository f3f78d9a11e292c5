package phases

import (
	"io"

	"k8s.io/klog/v2"
)

// Quiet keeps the Kubernetes libraries from writing to stderr by themselves: what goes wrong comes back as errors, and is told as faults.
// Their logger is one for the process, so main calls it once, before anything else.
func Quiet() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
}
