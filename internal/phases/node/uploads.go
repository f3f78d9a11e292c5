package node

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

const (
	// Together is the file on a node that several come as. Its name is the beginning of all that is left of an upload
	// that was cut off.
	Together = Dir + "/sent"

	togetherLeast = 4        // fewer files come one by one
	togetherSmall = 8 << 20  // so does a larger file
	togetherMost  = 32 << 20 // the most that comes as one: the node has it twice for a moment
)

// UploadAll uploads files to directories that are there; files that are there stay. A file by itself costs a node some
// fifty processes, so several small ones come as one file, which the node takes apart. If it cannot, they come one by
// one, and what is wrong is said of the file that it is wrong with.
func (n *Node) UploadAll(ctx context.Context, ups []shell.Upload) error {
	ups, err := n.lacking(ctx, ups)
	if err != nil {
		return err
	}
	return n.uploadLacking(ctx, ups)
}

// Place uploads a file to its place on the node, recorded like those that Put writes.
func (n *Node) Place(ctx context.Context, up shell.Upload) (changed bool, err error) {
	if lack, err := n.lacking(ctx, []shell.Upload{up}); err != nil || len(lack) == 0 {
		return false, err
	}
	return true, n.placeLacking(ctx, []shell.Upload{up})
}

// PlaceAll uploads files to their places on the node, recorded like those that Put writes; see UploadAll.
func (n *Node) PlaceAll(ctx context.Context, ups []shell.Upload) error {
	ups, err := n.lacking(ctx, ups)
	if err != nil || len(ups) == 0 {
		return err
	}
	return n.placeLacking(ctx, ups)
}

func (n *Node) placeLacking(ctx context.Context, ups []shell.Upload) error {
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
	return n.uploadLacking(ctx, ups)
}

// uploadLacking uploads files that are not there.
func (n *Node) uploadLacking(ctx context.Context, ups []shell.Upload) error {
	var alone, small []shell.Upload
	for _, u := range ups {
		if u.Size > togetherSmall || n.dry {
			alone = append(alone, u)
		} else {
			small = append(small, u)
		}
	}
	for len(small) >= togetherLeast {
		count := 0
		for size := int64(0); count < len(small) && size+small[count].Size <= togetherMost; count++ {
			size += small[count].Size
		}
		came, err := n.uploadTogether(ctx, small[:count])
		if err != nil {
			return err
		}
		if !came {
			alone = append(alone, small[:count]...)
		}
		small = small[count:]
	}
	for _, u := range append(alone, small...) {
		if _, err := n.Upload(ctx, u); err != nil {
			return err
		}
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

// uploadTogether uploads files as one file, and says whether that went well. A try that was cut off
// goes on where it was.
func (n *Node) uploadTogether(ctx context.Context, ups []shell.Upload) (came bool, err error) {
	all := join(ups)
	defer func() { _ = all.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, all); err != nil {
		return false, nil //nolint:nilerr // by itself the file says what is wrong with it
	}
	if _, err := n.Upload(ctx, shell.Upload{Path: Together, Mode: 0o600, Size: all.size,
		SHA256: hex.EncodeToString(h.Sum(nil)), What: fmt.Sprintf("%s +%d", path.Base(ups[0].Path), len(ups)-1),
		Open: func() (io.ReadSeekCloser, error) { return join(ups), nil }}); err != nil {
		// There may be room for one after the other, or where they belong.
		if f := event.AsFault(err); f.Code == "ssh.disk-full" || f.Code == "ssh.upload-failed" {
			return false, nil
		}
		return false, err
	}
	r, err := n.Change(ctx, Change{Desc: event.M("change.upload-apart", "count", strconv.Itoa(len(ups)),
		"bytes", strconv.FormatInt(all.size, 10)), Script: takeApart(ups)})
	return strings.TrimSpace(string(r.Stdout)) == "all there", err
}

// takeApart has a node make the files out of the one that they came as: all of them beside their places, whole, and
// then each in its place at once. It says "all there", or leaves nothing of them.
func takeApart(ups []shell.Upload) string {
	var news, sums []string
	var parts, places strings.Builder
	for _, u := range ups {
		name := u.Path + ".eggo-new"
		news, sums = append(news, name), append(sums, u.SHA256)
		fmt.Fprintf(&parts, "  part %s %d %o || return 1\n", shell.Quote(name), u.Size, u.Mode)
		fmt.Fprintf(&places, "  mv -fT %s %s || return 1\n", shell.Quote(name), shell.Quote(u.Path))
	}
	all := shell.QuoteAll(news)
	return "at=0\npart() {\n  rm -f \"$1\"\n  dd if=" + Together + " of=\"$1\" bs=65536 skip=$at count=\"$2\" " +
		"iflag=skip_bytes,count_bytes,fullblock status=none && chmod \"$3\" \"$1\" && at=$((at + $2))\n}\n" +
		"apart() {\n" + parts.String() +
		"  sums=$(sha256sum " + all + ` | sed 's/^\\*\([0-9a-f]*\).*/\1/')` + "\n" +
		"  [ \"$sums\" = " + shell.Quote(strings.Join(sums, "\n")) + " ] || return 1\n" +
		"  sync " + all + " 2>/dev/null || sync\n" + places.String() + "}\n" +
		"if apart 2>/dev/null; then echo all there; else rm -f " + all + "; fi\nrm -rf " + Together + "*\n"
}
