package build

import (
	"context"
	"debug/elf"
	"errors"
	"io"
	"maps"
	"net/url"
	"path"
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle/fetch"
	"github.com/eggo-k8s/eggo/internal/bundle/lock"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

const (
	maxChecksum = 1 << 20 // bytes
	maxProgram  = 4 << 30
)

// files pins the programs and the other files.
func (r *resolver) files(ctx context.Context) error {
	all := append(slices.Clone(r.spec.Binaries), r.spec.Files...)
	programs := len(r.spec.Binaries)
	out := make([]lock.File, len(all))
	var tasks []func(context.Context) error
	for i, x := range all {
		tasks = append(tasks, func(ctx context.Context) (err error) {
			out[i], err = r.file(ctx, x, i < programs)
			return err
		})
	}
	err := together(ctx, tasks...)
	r.set.Files = out
	return err
}

// file pins one download: by upstream's checksum file, by the spec's sum, or a file beside the spec as it is now.
func (r *resolver) file(ctx context.Context, x spec.Binary, program bool) (lock.File, error) {
	address := x.URL
	if address == "" {
		address = "file:" + x.Path.Name
	}
	old, pinned := r.old.File(x.Name, address)
	pinned = pinned && old.Version == x.Version && old.Checksum == x.Checksum &&
		(x.SHA256 == "" || x.SHA256 == old.SHA256) && samePicks(old, x)
	// a sum that the spec no longer gives vouches for nothing
	pinned = pinned && (x.URL == "" || (x.SHA256 != "") == (old.Trust == "spec"))
	if pinned && x.URL != "" {
		return old, nil
	}
	out := lock.File{Name: x.Name, Version: x.Version, URL: address, Checksum: x.Checksum, Trust: "spec"}
	blob, err := r.download(ctx, x, &out)
	if err != nil {
		return out, err
	}
	if pinned && old.SHA256 == blob.SHA256 {
		return old, nil
	}
	if err := r.beyond(x.Name); err != nil {
		return out, err
	}
	out.SHA256, out.Size = blob.SHA256, blob.Size
	if len(x.Pick) == 0 {
		return out, r.checkELF(x.Name, blob, program)
	}
	picked, err := r.pick(ctx, address, x.Name, x.Pick, blob)
	for _, from := range slices.Sorted(maps.Keys(picked)) {
		p := picked[from]
		out.Picked = append(out.Picked, lock.Picked{Member: from, Name: x.Pick[from], SHA256: p.SHA256, Size: p.Size})
		err = errors.Join(err, r.checkELF(x.Pick[from], p, program))
	}
	return out, err
}

func samePicks(old lock.File, x spec.Binary) bool {
	if len(old.Picked) != len(x.Pick) {
		return false
	}
	for _, p := range old.Picked {
		if name, ok := x.Pick[p.Member]; !ok || name != p.Name {
			return false
		}
	}
	return true
}

func (r *resolver) download(ctx context.Context, x spec.Binary, out *lock.File) (fetch.Blob, error) {
	if x.URL == "" {
		out.Trust = "local"
		blob, err := r.local(x.Path, maxProgram)
		if err == nil && x.SHA256 != "" && blob.SHA256 != x.SHA256 {
			err = event.NewFault(event.ClassFailed, "fetch.sum-mismatch", nil, "url", x.Path.File, "what", x.Name,
				"got", blob.SHA256, "want", x.SHA256)
		}
		return blob, err
	}
	if err := r.beyond(x.Name); err != nil {
		return fetch.Blob{}, err
	}
	sum := x.SHA256
	if x.Checksum != "" {
		var err error
		if sum, err = r.checksum(ctx, x); err != nil {
			return fetch.Blob{}, err
		}
		out.Trust = "checksum"
	}
	return r.client.Get(ctx, fetch.Source{URL: x.URL, SHA256: sum, Size: -1, Limit: maxProgram, What: x.Name})
}

// checksum reads upstream's checksum file.
func (r *resolver) checksum(ctx context.Context, x spec.Binary) (string, error) {
	blob, err := r.client.Get(ctx, fetch.Source{URL: x.Checksum, Size: -1, Limit: maxChecksum,
		What: x.Name + " checksum"})
	if err != nil {
		return "", err
	}
	data, err := r.content(blob)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(x.URL)
	if err != nil {
		return "", err
	}
	sum, err := findSum(data, path.Base(u.Path))
	switch {
	case errors.Is(err, errPage):
		return "", event.NewFault(event.ClassFailed, "build.checksum-page", nil, "url", x.Checksum, "what", x.Name)
	case err != nil:
		return "", event.NewFault(event.ClassFailed, "build.checksum", err, "url", x.Checksum, "what", x.Name)
	}
	return sum, nil
}

// checkELF refuses a program of another architecture; a program that is no ELF file (a script) gives a warning.
func (r *resolver) checkELF(name string, blob fetch.Blob, program bool) error {
	f, err := r.Cache.File(blob)
	if err != nil {
		return err
	}
	defer f.Close()
	magic := make([]byte, 4)
	if _, err := io.ReadFull(f, magic); err != nil || string(magic) != elf.ELFMAG {
		if program {
			r.warn(r.arch, event.M("build.warn.not-elf", "file", name))
		}
		return nil
	}
	e, err := elf.NewFile(f)
	if err != nil {
		return event.NewFault(event.ClassFailed, "build.elf", err, "file", name)
	}
	got, ok := map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}[e.Machine]
	if !ok {
		got = e.Machine.String()
	}
	if got != r.arch {
		return event.NewFault(event.ClassFailed, "build.elf-arch", nil, "file", name, "got", got, "want", r.arch,
			"hole", "{arch}")
	}
	return nil
}
