package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Bench is a workload, a server of it, and the programs that are compared.
type Bench struct {
	Workload *Workload
	Dir      string // for what is built; emptied
	Server   string // http://127.0.0.1:PORT
	Self     string // this program, for the floors
	Eggo     string // eggo-bundle
	Crane    string // crane, "" if it could not be had
}

const arch = "amd64" // that most cases build for

// host of the server, with its port.
func (b *Bench) host() string { return strings.TrimPrefix(b.Server, "http://") }

func (b *Bench) path(elem ...string) string {
	return filepath.Join(append([]string{b.Dir}, elem...)...)
}

// fresh empties directories before a run.
func fresh(dirs ...string) error {
	for _, d := range dirs {
		if err := errors.Join(os.RemoveAll(d), os.MkdirAll(d, 0o755)); err != nil {
			return err
		}
	}
	return nil
}

func (b *Bench) floor(name string, f Floor, set Set, link Conditions) *Case {
	out := b.path("floor")
	return &Case{Name: name, Command: []string{b.Self, "floor", string(f), b.Workload.Dir, b.Server, arch, out,
		string(set)}, Link: link,
		Prepare: func() error { return fresh(out) }, Floor: f == FloorWrite, Serves: f != FloorRead && f != FloorPack,
		Out: out}
}

// state of cache and output that a build begins with.
type state int

const (
	cold      state = iota // nothing
	locked                 // the lock of an earlier build, no cache
	warm                   // lock and cache, no bundle
	unchanged              // everything
)

// eggo is a build with eggo-bundle. Each case has directories of its own.
func (b *Bench) eggo(name, spec string, from state, link Conditions, arches ...string) *Case {
	if len(arches) == 0 {
		arches = []string{arch}
	}
	dir := b.path("eggo-" + strings.NewReplacer(" ", "-", ",", "", ":", "").Replace(name+"-"+spec))
	out, cache := filepath.Join(dir, "out"), filepath.Join(dir, "cache")
	mirrors := filepath.Join(dir, "mirrors")
	c := &Case{Name: name, Link: link, Out: out, Serves: from < warm,
		Command: []string{b.Eggo, "build", "-f", filepath.Join(b.Workload.Dir, spec), "--arch",
			strings.Join(arches, ","), "-o", out, "--cache", cache, "--mirrors", mirrors}}
	build := c.Command
	c.Prepare = func() error {
		text := ""
		for _, m := range []string{"https://dl.test=" + b.Server + "/files/dl",
			"http://deb.test/debian=" + b.Server + "/files/debian",
			"registry.k8s.io=" + b.host() + "/registry.k8s.io", "quay.io=" + b.host() + "/quay.io"} {
			text += m + "\n"
		}
		if err := writeText(mirrors, "%s", text); err != nil {
			return err
		}
		if from == cold {
			return errors.Join(os.RemoveAll(out), os.RemoveAll(cache))
		}
		if _, err := os.Stat(filepath.Join(out, "bundle.lock")); err != nil {
			if _, err := tell(context.Background(), b.Server, Conditions{}); err != nil {
				return err
			}
			if said, err := exec.Command(build[0], build[1:]...).CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %s", err, said)
			}
		}
		if from == locked {
			if err := os.RemoveAll(cache); err != nil {
				return err
			}
		}
		if from == unchanged {
			return nil
		}
		bundles, err := filepath.Glob(filepath.Join(out, "*.tar.gz*"))
		for _, f := range bundles {
			err = errors.Join(err, os.Remove(f))
		}
		return err
	}
	return c
}

// verify checks every byte of the bundle of which nothing changed.
func (b *Bench) verify() *Case {
	c := b.eggo(nameUnchanged, wholeSpec, unchanged, Conditions{})
	c.Name, c.Command = "eggo-bundle verify", []string{b.Eggo, "verify", filepath.Join(c.Out, "bench-"+arch+".tar.gz")}
	return c
}

// crane pulls all images into one file; with a cache if that is named.
func (b *Bench) crane(name string, from state, link Conditions) *Case {
	out, cache := b.path("crane", "out"), b.path("crane", "cache")
	c := &Case{Name: name, Link: link, Serves: from == cold, Out: out}
	if b.Crane == "" {
		c.Skip = "crane could not be built"
		return c
	}
	c.Command = append([]string{b.Crane, "pull", "--platform", "linux/" + arch}, b.references()...)
	c.Command = append(c.Command, filepath.Join(out, "images.tar"))
	if from != cold {
		c.Command = append(c.Command, "-c", cache)
	}
	c.Prepare = func() error {
		if _, err := os.Stat(cache); from != cold && err != nil {
			if err := fresh(cache, out); err != nil {
				return err
			}
			if said, err := exec.Command(c.Command[0], c.Command[1:]...).CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %s", err, said)
			}
		}
		return fresh(out)
	}
	return c
}

// references are the images as the server has them.
func (b *Bench) references() []string {
	var out []string
	for _, im := range b.Workload.Images {
		out = append(out, b.host()+"/"+im.Name())
	}
	return out
}

// shell is a case of several commands, of which each must be there and succeed.
func (b *Bench) shell(name, dir, script string, link Conditions, rounds int, needs ...string) *Case {
	dir = b.path(dir)
	c := &Case{Name: name, Dir: dir, Command: []string{"sh", "-ec", script}, Link: link, Rounds: rounds, Serves: true,
		Out:     filepath.Join(dir, "out"),
		Prepare: func() error { return fresh(dir, filepath.Join(dir, "in"), filepath.Join(dir, "out")) }}
	for _, n := range needs {
		if _, err := exec.LookPath(n); err != nil {
			c.Skip = n + " is not installed"
		}
	}
	return c
}

// skopeo copies all images into one OCI layout and packs that.
func (b *Bench) skopeo(link Conditions, rounds int) *Case {
	var s strings.Builder
	for i, r := range b.references() {
		fmt.Fprintf(&s,
			"skopeo --insecure-policy --override-os linux --override-arch %s copy -q --src-tls-verify=false "+
				"docker://%s oci:in:image%d\n", arch, r, i)
	}
	s.WriteString("tar -C in -cf out/images.tar .\n")
	return b.shell("skopeo copy to OCI, tar", "skopeo", s.String(), link, rounds, "skopeo", "tar")
}

// byHand is what people write who have no builder: crane, curl, sha256sum, tar and a gzip.
func (b *Bench) byHand(name, gzip string, rounds int, needs ...string) *Case {
	var list, sums, s strings.Builder
	for _, f := range append(append([]File(nil), b.Workload.Programs[arch]...), b.Workload.Packages[arch]...) {
		base := filepath.Base(f.Path)
		fmt.Fprintf(&list, "url = \"%s/files/%s\"\noutput = \"in/%s\"\n", b.Server, f.Path, base)
		fmt.Fprintf(&sums, "%s  in/%s\n", f.SHA256, base)
	}
	fmt.Fprintf(&s, "%s pull --platform linux/%s %s in/images.tar\n", b.Crane, arch, strings.Join(b.references(), " "))
	fmt.Fprintf(&s, "curl -fsS --parallel --parallel-max 16 -K ../hand.curl\nsha256sum --quiet -c ../hand.sums\n%s\n",
		gzip)
	c := b.shell(name, "hand", s.String(), Conditions{}, rounds, append(needs, "curl", "sha256sum", "tar")...)
	if b.Crane == "" {
		c.Skip = "crane could not be built"
	}
	prepare := c.Prepare
	c.Prepare = func() error {
		return errors.Join(prepare(), writeText(b.path("hand.curl"), "%s", list.String()),
			writeText(b.path("hand.sums"), "%s", sums.String()))
	}
	return c
}

// The names of the cases that the goals are about.
const (
	nameFetch     = "floor: fetch"
	nameHash      = "floor: fetch, sha256"
	nameWrite     = "floor: fetch, sha256, write"
	nameSync      = "floor: fetch, sha256, write, fsync"
	nameTwice     = "floor: fetch, sha256, write twice (a cache)"
	nameBundle    = "floor: fetch, 3 x sha256, write twice, fsync"
	nameRead      = "floor: read files, sha256, write"
	namePack      = "floor: compress the binaries (level 1)"
	nameEggo      = "eggo-bundle"
	nameLocked    = "eggo-bundle, lock there"
	nameWarm      = "eggo-bundle, cache filled"
	nameUnchanged = "eggo-bundle, nothing changed"
	nameLargest   = "floor: the largest layer alone"
)

// Sections are everything that is measured.
func (b *Bench) Sections() []*Section {
	slow := Conditions{Rate: 20e6, Latency: 40 * time.Millisecond}
	cut := Conditions{Cut: int64(5 * mega * b.Workload.Scale)}
	plain := Conditions{}
	few := func(c *Case, rounds int) *Case { c.Rounds = rounds; return c }
	all := []*Section{
		{Title: "Images only, nothing cached", Cases: []*Case{
			b.floor(nameFetch, FloorFetch, ImagesOnly, plain), b.floor(nameHash, FloorHash, ImagesOnly, plain),
			b.floor(nameWrite, FloorWrite, ImagesOnly, plain),
			b.floor(nameSync, FloorSync, ImagesOnly, plain), b.floor(nameTwice, FloorTwice, ImagesOnly, plain),
			b.floor(nameBundle, FloorBundle, ImagesOnly, plain),
			{Name: "eggo-bundle version: startup only", Command: []string{b.Eggo, "version"}},
			b.eggo(nameEggo, imagesSpec, cold, plain), b.eggo(nameLocked, imagesSpec, locked, plain),
			b.crane("crane pull", cold, plain), b.skopeo(plain, 2)}},
		{Title: "Images only, cache filled, output removed", Cases: []*Case{
			b.floor(nameRead, FloorRead, ImagesOnly, plain), b.eggo(nameWarm, imagesSpec, warm, plain),
			few(b.crane("crane pull -c", warm, plain), 2)}},
		{Title: "Whole bundle, nothing cached", Cases: []*Case{
			b.floor(nameWrite, FloorWrite, Whole, plain), b.floor(nameBundle, FloorBundle, Whole, plain),
			b.floor(namePack, FloorPack, Whole, plain),
			b.eggo(nameEggo, wholeSpec, cold, plain), b.eggo(nameLocked, wholeSpec, locked, plain),
			few(b.eggo("eggo-bundle, both architectures", wholeSpec, cold, plain, arches[:]...), 2),
			b.byHand("crane, curl, sha256sum, tar and pigz", "tar -C in -cf - . | pigz > out/bundle.tar.gz", 1, "pigz"),
			b.byHand("crane, curl, sha256sum, tar czf", "tar -C in -czf out/bundle.tar.gz .", 1)}},
		{Title: "Whole bundle, again", Cases: []*Case{
			b.floor(nameRead, FloorRead, Whole, plain), b.eggo(nameWarm, wholeSpec, warm, plain),
			b.eggo(nameUnchanged, wholeSpec, unchanged, plain), b.verify()}},
		{Title: "Images only over a slow link", Note: "20 MB/s a connection, 40 ms before each answer.", Cases: []*Case{
			few(b.floor(nameLargest, FloorWrite, Largest, slow), 2),
			few(b.floor(nameHash, FloorHash, ImagesOnly, slow), 2), few(b.eggo(nameEggo, imagesSpec, cold, slow), 3),
			few(b.eggo(nameLocked, imagesSpec, locked, slow), 2), few(b.crane("crane pull", cold, slow), 1),
			b.skopeo(slow, 1)}},
		{Title: "Images only, connections cut",
			Note: fmt.Sprintf("The connection of each blob breaks once, after %.1f MB.", float64(cut.Cut)/mega),
			Cases: []*Case{
				few(b.eggo(nameEggo, imagesSpec, cold, cut), 2), few(b.crane("crane pull", cold, cut), 1),
				b.skopeo(cut, 1)}},
	}
	for _, s := range all {
		s.Settle = syscall.Sync // what was written is on the disk
	}
	return all
}
