package stand

import (
	"strings"
	"testing"
)

// Both places where a linker puts the version get another one of the same length, and nothing else does.
func TestRestamp(t *testing.T) {
	t.Parallel()
	const module = "k8s.io/kubernetes@v1.34.2/pkg\tv1.34.2\th1:"
	got, err := restamp([]byte(module+"\x00v1.34.2\x00v1.34.2\x00rest"), "v1.34.2", "v1.34.9")
	if want := module + "\x00v1.34.9\x00v1.34.9\x00rest"; err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []struct{ text, to, want string }{
		{"v1.34.2\x00", "v1.34.9", "1 times, want 2"},
		{"v1.34.2\x00v1.34.2\x00", "v1.34.10", "not as long"},
	} {
		_, err := restamp([]byte(bad.text), "v1.34.2", bad.to)
		if err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%q: %v", bad.text, err)
		}
	}
}
