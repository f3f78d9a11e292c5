package node_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/shell"
)

type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

// toUpload is a file for a node; its bytes are of the size of its name's number.
func toUpload(at string, mode uint32, data []byte) shell.Upload {
	sum := sha256.Sum256(data)
	return shell.Upload{Path: at, Mode: mode, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:]),
		What: path.Base(at),
		Open: func() (io.ReadSeekCloser, error) { return memory{bytes.NewReader(data)}, nil }}
}

// several are files of many sizes, none and one larger than what comes with others among them.
func several(dir string) (ups []shell.Upload, data map[string][]byte) {
	data = map[string][]byte{}
	for i, size := range []int{10, 0, 70_000, 1, 65_536, 9 << 20, 300} {
		b := bytes.Repeat([]byte{byte('a' + i)}, size)
		at := path.Join(dir, fmt.Sprintf("it's $%d.deb", i))
		mode := uint32(0o644)
		if i == 3 {
			mode = 0o755
		}
		ups, data[at] = append(ups, toUpload(at, mode, b)), b
	}
	return ups, data
}

// Several small files come as one and lie there as if each had come by itself.
func TestSmallFilesComeTogether(t *testing.T) {
	sim, n, said := machine(t)
	if err := os.MkdirAll(sim.Path("/var/lib/eggo-node/repo"), 0o755); err != nil {
		t.Fatal(err)
	}
	ups, data := several("/var/lib/eggo-node/repo")
	place(t, sim, ups[0].Path, "of an earlier time")
	// What a run that was killed left.
	place(t, sim, "/var/lib/eggo-node/repo/"+node.Together+"-apart/x", "half")
	if err := n.UploadAll(t.Context(), "/var/lib/eggo-node/repo", "packages", ups); err != nil {
		t.Fatal(err)
	}
	for i, u := range ups {
		if read(t, sim, u.Path) != string(data[u.Path]) {
			t.Errorf("file %d is another", i)
		}
		if st, err := os.Stat(sim.Path(u.Path)); err != nil || uint32(st.Mode().Perm()) != u.Mode {
			t.Errorf("file %d: %v %v", i, st.Mode(), err)
		}
	}
	left, err := os.ReadDir(sim.Path("/var/lib/eggo-node/repo"))
	if err != nil || len(left) != len(ups) {
		t.Error("left behind:", left, err)
	}
	if want := []string{"change.upload-apart /var/lib/eggo-node/repo"}; !slices.Equal(*said, want) {
		t.Errorf("%q", *said)
	}
	before := len(sim.Commands())
	if err := n.UploadAll(t.Context(), "/var/lib/eggo-node/repo", "packages", ups); err != nil {
		t.Fatal(err)
	}
	if len(*said) != 1 || len(sim.Commands()) != before+1 {
		t.Errorf("a second time: %q, %d commands", *said, len(sim.Commands())-before)
	}
}

// A source that has changed, or cannot be read, is told, and nothing of it is in its place.
func TestFilesThatAreNotWhatTheySay(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(u *shell.Upload)
		code  string
	}{
		"another content": {func(u *shell.Upload) { u.SHA256 = strings.Repeat("0", 64) }, "node.short-write"},
		"shorter":         {func(u *shell.Upload) { u.Size++ }, "ssh.upload-source"},
		"unreadable": {func(u *shell.Upload) {
			u.Open = func() (io.ReadSeekCloser, error) { return nil, iotest.ErrTimeout }
		}, "ssh.upload-source"},
	} {
		t.Run(name, func(t *testing.T) {
			sim, n, _ := machine(t)
			if err := os.MkdirAll(sim.Path("/var/lib/eggo-node/repo"), 0o755); err != nil {
				t.Fatal(err)
			}
			ups, _ := several("/var/lib/eggo-node/repo")
			c.spoil(&ups[len(ups)-1])
			if err := n.UploadAll(t.Context(), "/var/lib/eggo-node/repo", "packages", ups); codeOf(err) != c.code {
				t.Fatal(err)
			}
			for _, u := range ups {
				if _, err := os.Stat(sim.Path(u.Path)); err == nil && u.Size < 9<<20 {
					t.Error(u.Path, "is there")
				}
			}
		})
	}
}

// An upload that broke goes on in the middle of a file.
func TestJoinedFilesAreReadFromAnywhere(t *testing.T) {
	ups, data := several("/d")
	var all []byte
	for _, u := range ups {
		all = append(all, data[u.Path]...)
	}
	r := node.Joined(ups)
	defer func() { _ = r.Close() }()
	if err := iotest.TestReader(r, all); err != nil {
		t.Error(err)
	}
}
