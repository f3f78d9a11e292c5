package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/mholt/archives"

	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/sevenzip"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// pick takes members (path in the archive → name) out of an archive into the cache, and gives them by their paths.
func (b *builder) pick(ctx context.Context, address, what string, picks map[string]string, blob fetch.Blob,
) (map[string]fetch.Blob, error) {
	want := map[string]string{}
	for from := range picks {
		want[path.Clean(from)] = from
	}
	got := map[string]fetch.Blob{}
	refused := func(err error) error {
		return event.NewFault(event.ClassFailed, "build.archive", err, "url", address, "what", what)
	}
	err := b.members(ctx, baseOf(address), blob, func(_ context.Context, info archives.FileInfo) error {
		from, ok := want[path.Clean(info.NameInArchive)]
		if !ok {
			return nil
		}
		if _, twice := got[from]; twice || !info.Mode().IsRegular() || info.LinkTarget != "" {
			return errors.New(info.NameInArchive + " is there twice or is no regular file")
		}
		r, err := info.Open()
		if err != nil {
			return err
		}
		defer r.Close()
		got[from], err = b.Cache.Put(archived{r, refused}, maxProgram)
		return err
	})
	if f := (*event.Fault)(nil); err != nil && !errors.As(err, &f) {
		err = refused(err)
	}
	if err != nil {
		return nil, err
	}
	for from := range picks {
		if _, ok := got[from]; !ok {
			return nil, event.NewFault(event.ClassFailed, "build.no-member", nil,
				"url", address, "member", from, "what", what)
		}
	}
	return got, nil
}

// archived reads a member: what goes wrong there is the archive's fault, not the cache's.
type archived struct {
	io.Reader
	refused func(error) error
}

func (a archived) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = a.refused(err)
	}
	return n, err
}

// members gives each the members of an archive of any format. No fault is returned before the whole file was found to
// be the one that its sum promises: a damaged file explains any other fault.
func (b *builder) members(ctx context.Context, name string, blob fetch.Blob, each archives.FileHandler) (err error) {
	defer func() {
		if x := recover(); x != nil { // what reads zip and 7z trusts some numbers in them
			err = fmt.Errorf("it is damaged: %v", x)
		}
	}()
	f, err := b.Cache.Open(blob)
	if err != nil {
		return err
	}
	defer f.Close()
	format, stream, err := archives.Identify(ctx, name, f)
	if err != nil {
		return whole(f, err)
	}
	switch format := format.(type) {
	case archives.Zip, archives.SevenZip: // their lists of members stand at the end
		if err := whole(f, nil); err != nil {
			return err
		}
		return b.listed(ctx, blob, format.(archives.Extractor), each)
	case archives.CompressedArchive:
		if format.Extraction != nil {
			return whole(f, format.Extract(ctx, stream, each))
		}
	case archives.Tar:
		return whole(f, format.Extract(ctx, stream, each))
	}
	return whole(f, errors.New("it is no archive"))
}

// listed gives each the members of an archive that has to be read at random.
func (b *builder) listed(ctx context.Context, blob fetch.Blob, format archives.Extractor, each archives.FileHandler,
) error {
	f, err := b.Cache.File(blob)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, is := format.(archives.SevenZip); is {
		if err := sevenzip.Check(f, blob.Size); err != nil {
			return err
		}
	}
	return format.Extract(ctx, io.NewSectionReader(f, 0, blob.Size), each)
}
