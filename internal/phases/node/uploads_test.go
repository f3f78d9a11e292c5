package node_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/testkit/phasestest"
)

type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

// toUpload is a file for a node.
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

// wantFiles wants files whole and with their modes, and nothing else in their directory.
func wantFiles(t *testing.T, sim *phasestest.Node, ups []shell.Upload, data map[string][]byte) {
	t.Helper()
	for i, u := range ups {
		if read(t, sim, u.Path) != string(data[u.Path]) {
			t.Errorf("file %d is another", i)
		}
		if st, err := os.Stat(sim.Path(u.Path)); err != nil || uint32(st.Mode().Perm()) != u.Mode {
			t.Errorf("file %d: %v %v", i, st.Mode(), err)
		}
	}
	left, err := os.ReadDir(sim.Path(path.Dir(ups[0].Path)))
	if err != nil || len(left) != len(ups) {
		t.Error("left behind:", left, err)
	}
	if left, _ := filepath.Glob(sim.Path(node.Together) + "*"); len(left) > 0 {
		t.Error("left behind:", left)
	}
}

const repo = node.Dir + "/repo"

// Several small files come as one and lie there as if each had come by itself.
func TestSmallFilesComeTogether(t *testing.T) {
	sim, n, said := machine(t)
	ups, data := several(repo)
	place(t, sim, ups[0].Path, "of an earlier time")
	// What a run that was killed left.
	place(t, sim, node.Together+".eggo-part", "half")
	place(t, sim, ups[2].Path+".eggo-new", "half")
	if err := n.UploadAll(t.Context(), ups); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, sim, ups, data)
	if want := []string{"change.upload-apart"}; !slices.Equal(*said, want) {
		t.Errorf("%q", *said)
	}
	before := len(sim.Commands())
	if err := n.UploadAll(t.Context(), ups); err != nil {
		t.Fatal(err)
	}
	if len(*said) != 1 || len(sim.Commands()) != before+1 {
		t.Errorf("a second time: %q, %d commands", *said, len(sim.Commands())-before)
	}
}

// Files that have places of their own are recorded before they come, each, and a cleanup takes them away.
func TestFilesThatComeTogetherAreRecorded(t *testing.T) {
	sim, n, said := machine(t)
	ups, data := several("/opt/cni/bin")
	if err := n.PlaceAll(t.Context(), ups); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, sim, ups, data)
	list := records(t, n)
	for _, u := range ups {
		if !slices.Contains(list, "file "+u.Path+" absent") || !slices.Contains(*said, "change.upload "+u.Path) {
			t.Errorf("%s: %q %q", u.Path, list, *said)
		}
	}
	place(t, sim, "/opt/cni/bin/theirs", "of somebody else")
	more := append(ups, toUpload("/opt/cni/bin/theirs", 0o755, []byte("ours")))
	if err := n.PlaceAll(t.Context(), more); codeOf(err) != "node.file-exists" {
		t.Error(err)
	}
}

// A node that cannot take them apart, on a full disk for example, gets them one by one.
func TestFilesThatDoNotComeTogetherComeOneByOne(t *testing.T) {
	sim, n, _ := machine(t)
	ups, data := several(repo)
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(sim.Path(repo), 0o755))
	dd := sim.State("../bin/dd")
	must(os.RemoveAll(dd))
	must(os.WriteFile(dd, []byte("#!/bin/sh\necho no space >&2\nexit 1\n"), 0o755)) //nolint:gosec // executed
	must(n.UploadAll(t.Context(), ups))
	wantFiles(t, sim, ups, data)
}

// stubborn is a node on which the file that several come as cannot be written.
type stubborn struct{ *phasestest.Node }

func (s stubborn) Upload(ctx context.Context, up shell.Upload) (bool, error) {
	if up.Path == node.Together {
		return false, event.NewFault(event.ClassFailed, "ssh.disk-full", nil, "path", up.Path)
	}
	return s.Node.Upload(ctx, up)
}

// Where there is no room for all at once there may be room for one after the other.
func TestWithoutRoomForAllFilesComeOneByOne(t *testing.T) {
	sim, _, _ := machine(t)
	n := node.New(stubborn{sim}, func(event.Event) error { return nil })
	ups, data := several(repo)
	if err := os.MkdirAll(sim.Path(repo), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := n.UploadAll(t.Context(), ups); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, sim, ups, data)
}

// A source that has changed, or cannot be read, is told, and nothing of it is left.
func TestFilesThatAreNotWhatTheySay(t *testing.T) {
	for name, spoil := range map[string]func(u *shell.Upload){
		"another content": func(u *shell.Upload) { u.SHA256 = strings.Repeat("0", 64) },
		"shorter":         func(u *shell.Upload) { u.Size++ },
		"unreadable": func(u *shell.Upload) {
			u.Open = func() (io.ReadSeekCloser, error) { return nil, iotest.ErrTimeout }
		},
	} {
		t.Run(name, func(t *testing.T) {
			sim, n, _ := machine(t)
			if err := os.MkdirAll(sim.Path(repo), 0o755); err != nil {
				t.Fatal(err)
			}
			ups, data := several(repo)
			last := &ups[len(ups)-1]
			spoil(last)
			if err := n.UploadAll(t.Context(), ups); err == nil {
				t.Fatal("it came")
			}
			if err := os.Remove(sim.Path(last.Path) + ".eggo-part"); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			wantFiles(t, sim, ups[:len(ups)-1], data)
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
