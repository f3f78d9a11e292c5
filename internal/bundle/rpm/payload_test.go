package rpm

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// newc writes a cpio archive as rpm does.
func newc(entries ...[3]string) string { // name, mode, content
	var b strings.Builder
	for _, e := range append(entries, [3]string{"TRAILER!!!", "0", ""}) {
		fmt.Fprintf(&b, "070701%08x%08s%024x%08x%08x%032x%08x%08x", 1, e[1], 1, 0, len(e[2]), 0, len(e[0])+1, 0)
		b.WriteString(e[0] + "\x00" + strings.Repeat("\x00", (4-(110+len(e[0])+1)%4)%4))
		b.WriteString(e[2] + strings.Repeat("\x00", (4-len(e[2])%4)%4))
	}
	return b.String()
}

// The files of a payload are read in each compression that rpm writes; links, directories and empty files are skipped.
func TestThePayloadOfAPackage(t *testing.T) {
	plain := newc([3]string{"./usr/bin", "41ed", ""}, [3]string{"./usr/bin/kubelet", "81ed", "program"},
		[3]string{"./usr/bin/link", "a1ff", "kubelet"}, [3]string{"./usr/bin/empty", "81ed", ""},
		[3]string{"/etc/x.conf", "81a4", "a"})
	pack := func(open func(io.Writer) (io.WriteCloser, error)) string {
		var b bytes.Buffer
		w, err := open(&b)
		if err == nil {
			_, err = io.WriteString(w, plain)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	forms := map[string]string{"plain": plain,
		"gzip": pack(func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }),
		"xz":   pack(func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) }),
		"zstd": pack(func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) })}
	for name, payload := range forms {
		got := ""
		each := func(n string, r io.Reader) error {
			data, err := io.ReadAll(r)
			got += n + "=" + string(data) + " "
			return err
		}
		err := Payload(bytes.NewReader(rpmFile(values{}, simpleTags(), payload)), 1<<20, each)
		if want := "/usr/bin/kubelet=program /etc/x.conf=a "; err != nil || got != want {
			t.Errorf("%s: %q %v", name, got, err)
		}
		for _, broken := range []string{payload[:len(payload)/2], "", "\x01\x02\x03\x04"} {
			if err := Payload(bytes.NewReader(rpmFile(values{}, simpleTags(), broken)), 1<<20,
				func(string, io.Reader) error { return nil }); err == nil {
				t.Errorf("%s: a broken payload was accepted", name)
			}
		}
	}
	if err := Payload(bytes.NewReader(rpmFile(values{}, simpleTags(), plain)), 100,
		func(string, io.Reader) error { return nil }); err == nil {
		t.Error("more than the limit was accepted")
	}
}
