package clients

import (
	"errors"
	"io"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// Nothing of what the libraries log reaches stderr, errors neither.
func TestQuiet(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	real := os.Stderr
	os.Stderr = w
	Quiet()
	runtime.HandleError(errors.New("couldn't get current server API group list"))
	klog.ErrorS(nil, "one")
	klog.Errorf("two")
	klog.Warning("three")
	klog.Background().Error(nil, "four")
	klog.Flush()
	os.Stderr = real
	w.Close()
	if said, err := io.ReadAll(r); err != nil || len(said) > 0 {
		t.Errorf("%q %v", said, err)
	}
}
