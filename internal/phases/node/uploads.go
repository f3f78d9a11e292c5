package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/shell"
)

// Together is the file that several come as. What begins with its name is left of an upload that was cut off.
const Together = ".eggo-sent"

const (
	togetherLeast = 4        // fewer of them come one by one
	togetherSmall = 8 << 20  // a larger file comes by itself
	togetherMost  = 64 << 20 // the most that comes as one: the node has it twice for a moment
)

// UploadAll uploads files to one directory; those that are there already stay. A file by itself costs a node some fifty
// processes, so several small ones come as one file, which the node takes apart. What names them in the progress.
func (n *Node) UploadAll(ctx context.Context, dir, what string, ups []shell.Upload) error {
	ups, err := n.lacking(ctx, ups)
	if err != nil {
		return err
	}
	return n.uploadLacking(ctx, dir, what, ups)
}

// Place uploads a file to its place on the node, recorded like those that Put writes.
func (n *Node) Place(ctx context.Context, up shell.Upload) (changed bool, err error) {
	if lack, err := n.lacking(ctx, []shell.Upload{up}); err != nil || len(lack) == 0 {
		return false, err
	}
	return true, n.placeLacking(ctx, path.Dir(up.Path), "", []shell.Upload{up})
}

// PlaceAll uploads files to their places in one directory, recorded like those that Put writes; see UploadAll.
func (n *Node) PlaceAll(ctx context.Context, dir, what string, ups []shell.Upload) error {
	ups, err := n.lacking(ctx, ups)
	if err != nil || len(ups) == 0 {
		return err
	}
	return n.placeLacking(ctx, dir, what, ups)
}

func (n *Node) placeLacking(ctx context.Context, dir, what string, ups []shell.Upload) error {
	if !n.dry {
		script := ""
		for _, u := range ups {
			script += "own " + shell.Quote(u.Path) + "\n"
		}
		for _, u := range ups[1:] {
			if err := n.announceUpload(ctx, u); err != nil {
				return err
			}
		}
		if _, err := n.Change(ctx, Change{Desc: uploading(ups[0]), Script: script}); err != nil {
			return err
		}
	}
	return n.uploadLacking(ctx, dir, what, ups)
}

// uploadLacking uploads files that are not there.
func (n *Node) uploadLacking(ctx context.Context, dir, what string, ups []shell.Upload) error {
	var alone, small []shell.Upload
	for _, u := range ups {
		if u.Size > togetherSmall || n.dry {
			alone = append(alone, u)
		} else {
			small = append(small, u)
		}
	}
	if len(small) < togetherLeast {
		alone, small = ups, nil
	}
	for _, u := range alone {
		if _, err := n.Upload(ctx, u); err != nil {
			return err
		}
	}
	for len(small) > 0 {
		count := 0
		for size := int64(0); count < len(small) && size+small[count].Size <= togetherMost; count++ {
			size += small[count].Size
		}
		if err := n.uploadTogether(ctx, dir, what, small[:count]); err != nil {
			return err
		}
		small = small[count:]
	}
	return nil
}

// lacking are the files that are not on the node as given, mode included.
func (n *Node) lacking(ctx context.Context, ups []shell.Upload) ([]shell.Upload, error) {
	var script strings.Builder
	for _, u := range ups {
		fmt.Fprintf(&script, "if [ -f %[1]s ] && [ ! -L %[1]s ]; then\n  printf '%%s %%s\\n' "+
			"\"$(stat -c '%%a %%s' %[1]s)\" \"$(sha256sum <%[1]s)\"\nelse echo; fi\n", shell.Quote(u.Path))
	}
	out, err := n.Query(ctx, script.String())
	if err != nil {
		return nil, err
	}
	lines := strings.Split(out, "\n")
	var lack []shell.Upload
	for i, u := range ups {
		if i >= len(lines) || !strings.HasPrefix(lines[i], fmt.Sprintf("%o %d %s ", u.Mode, u.Size, u.SHA256)) {
			lack = append(lack, u)
		}
	}
	return lack, nil
}

// uploadTogether uploads files of one directory as one file. A try that broke goes on where it was.
func (n *Node) uploadTogether(ctx context.Context, dir, what string, ups []shell.Upload) error {
	all := join(ups)
	defer func() { _ = all.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, all); err != nil {
		return event.NewFault(event.ClassFailed, "ssh.upload-source", err, "path", dir).On(n.Name())
	}
	count := strconv.Itoa(len(ups))
	if _, err := n.Upload(ctx, shell.Upload{Path: path.Join(dir, Together), Mode: 0o600, Size: all.size,
		SHA256: hex.EncodeToString(h.Sum(nil)), What: what + " (" + count + ")",
		Open: func() (io.ReadSeekCloser, error) { return join(ups), nil }}); err != nil {
		return err
	}
	_, err := n.Change(ctx, Change{Desc: event.M("change.upload-apart", "path", dir, "count", count, "bytes",
		strconv.FormatInt(all.size, 10)), Script: takeApart(dir, ups)})
	return err
}

// takeApart has a node make the files out of the one that they came as: all of them beside their places, whole, and
// then each in its place at once.
func takeApart(dir string, ups []shell.Upload) string {
	const parts = Together + "-apart"
	var names, sums []string
	var cut strings.Builder
	of := map[uint32][]string{}
	for _, u := range ups {
		name := "./" + path.Base(u.Path)
		names, sums = append(names, name), append(sums, u.SHA256+"  "+name)
		fmt.Fprintf(&cut, "part %s %d\n", shell.Quote(name), u.Size)
		of[u.Mode] = append(of[u.Mode], name)
	}
	modes := ""
	for _, mode := range slices.Sorted(maps.Keys(of)) {
		modes += fmt.Sprintf("chmod %o %s\n", mode, shell.QuoteAll(of[mode]))
	}
	all := shell.QuoteAll(names)
	return "cd " + shell.Quote(dir) + "\nrm -rf " + parts + "\nmkdir -m 700 " + parts + "\ncd " + parts + "\nat=0\n" +
		"part() { dd if=../" + Together + " of=\"$1\" bs=65536 skip=$at count=\"$2\" " +
		"iflag=skip_bytes,count_bytes,fullblock status=none; at=$((at + $2)); }\n" + cut.String() +
		"[ \"$(sha256sum " + all + ")\" = " + shell.Quote(strings.Join(sums, "\n")) + " ] || fail node.short-write " +
		shell.Quote(dir) + "\n" + modes + "sync " + all + " 2>/dev/null || sync\nmv -f " + all + " ..\ncd ..\n" +
		"rm -rf " + parts + " " + Together + "\nsync . 2>/dev/null || sync\n"
}
