package addon

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/ignore"
)

// ChartSource is where a chart is read from: an archive as helm package makes it, or its directory.
type ChartSource struct {
	Name    string    // for messages
	Archive io.Reader // a .tgz; nil for a directory
	Dir     fs.FS
}

const (
	maxPacked    = 32 << 20 // bytes of a chart's archive
	maxChart     = 32 << 20 // bytes of all its files, those of charts packed within it too
	maxChartFile = 5 << 20  // helm's own limit
	maxNested    = 8        // charts packed within charts
)

// files of a chart by their path below its root, within one budget.
type files struct {
	name string
	left int64
	read int // headers of archives
	list []*archive.BufferedFile
	seen map[string]bool
}

func (f *files) tooLarge() error {
	return fault("addon.too-large", nil, "addon", f.name, "limit", mib(maxChart))
}

func (f *files) member(file string, err error) error {
	return fault("addon.chart-member", err, "addon", f.name, "file", file)
}

// add takes the file that r has, or the files of the chart that is packed in it.
func (f *files) add(name string, r io.Reader, nested int) error {
	data, err := io.ReadAll(io.LimitReader(r, min(f.left, maxChartFile)+1))
	if err != nil {
		return f.member(name, err)
	}
	if f.left -= int64(len(data)); f.left < 0 || len(data) > maxChartFile || len(f.list) == maxFiles {
		return f.tooLarge()
	}
	if dir, base := path.Split(name); (dir == "charts/" || strings.HasSuffix(dir, "/charts/")) &&
		path.Ext(base) == ".tgz" {
		if nested == maxNested {
			return f.member(name, errors.New("charts packed within charts too deeply"))
		}
		// Not helm's own way for packed charts within a chart: it gives each a budget of its own.
		return f.unpack(bytes.NewReader(data), name+".unpacked/", nested+1)
	}
	if f.seen[name] {
		return f.member(name, errors.New("it is there twice"))
	}
	f.seen[name] = true
	f.list = append(f.list, &archive.BufferedFile{Name: name, Data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))})
	return nil
}

// unpack takes the files of an archive, whose names begin with a directory that nobody cares for.
func (f *files) unpack(r io.Reader, prefix string, nested int) error {
	gz, err := gzip.NewReader(r)
	if err != nil {
		return f.member(prefix, err)
	}
	for tr := tar.NewReader(gz); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return f.member(prefix, err)
		}
		if f.read++; f.read > 2*maxFiles {
			return f.tooLarge()
		}
		switch h.Typeflag {
		case tar.TypeReg:
		case tar.TypeDir, tar.TypeXGlobalHeader:
			continue
		default:
			return f.member(prefix+h.Name, errors.New("it is no regular file"))
		}
		_, name, ok := strings.Cut(strings.TrimPrefix(h.Name, "./"), "/")
		if !ok || !fs.ValidPath(name) || strings.ContainsAny(name, "\\\x00") {
			return f.member(prefix+h.Name, errors.New("its path is not within the chart's directory"))
		}
		if err := f.add(prefix+name, tr, nested); err != nil {
			return err
		}
	}
}

// walk takes the files of a directory but those that .helmignore names.
func (f *files) walk(ctx context.Context, dir fs.FS) error {
	rules := ignore.Empty()
	if text, err := readFile(dir, ".helmignore", maxChartFile); err == nil {
		if rules, err = ignore.Parse(bytes.NewReader(text)); err != nil {
			return f.member(".helmignore", err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return f.member(".helmignore", err)
	}
	rules.AddDefaults()
	return fs.WalkDir(dir, ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || p == "." {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return f.member(p, err)
		}
		switch {
		case rules.Ignore(p, info) && d.IsDir():
			return fs.SkipDir
		case rules.Ignore(p, info) || d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return f.member(p, errors.New("it is no regular file"))
		}
		r, err := dir.Open(p)
		if err != nil {
			return f.member(p, err)
		}
		defer r.Close()
		return f.add(p, r, 0)
	})
}

// read takes the files of a chart, sorted.
func read(ctx context.Context, src ChartSource) ([]*archive.BufferedFile, error) {
	f := &files{name: src.Name, left: maxChart, seen: map[string]bool{}}
	var err error
	if src.Archive != nil {
		packed := &io.LimitedReader{R: src.Archive, N: maxPacked + 1}
		if err = f.unpack(packed, "", 0); packed.N == 0 {
			err = fault("addon.too-large", nil, "addon", src.Name, "limit", mib(maxPacked))
		}
	} else {
		err = f.walk(ctx, src.Dir)
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(f.list, func(a, b *archive.BufferedFile) int { return strings.Compare(a.Name, b.Name) })
	return f.list, nil
}

// load makes a chart of files. Helm takes charts within it in random order; here they are sorted.
func load(name string, list []*archive.BufferedFile) (*chart.Chart, error) {
	c, err := loader.LoadFiles(list)
	if err != nil {
		return nil, fault("addon.chart", err, "addon", name)
	}
	order(c)
	return c, nil
}

func order(c *chart.Chart) {
	deps := slices.Clone(c.Dependencies())
	slices.SortStableFunc(deps, func(a, b *chart.Chart) int {
		return strings.Compare(a.Name()+"\x00"+a.Metadata.Version, b.Name()+"\x00"+b.Metadata.Version)
	})
	c.SetDependencies(deps...)
	for _, d := range deps {
		order(d)
	}
}

// missing are the charts that Chart.yaml asks for, after conditions and tags, and that are not below charts/.
func missing(c *chart.Chart) []string {
	var out []string
	for _, want := range c.Metadata.Dependencies {
		if !slices.ContainsFunc(c.Dependencies(), func(d *chart.Chart) bool { return d.Name() == want.Name }) {
			out = append(out, strings.TrimSpace(want.Name+" "+want.Version))
		}
	}
	for _, d := range c.Dependencies() {
		out = append(out, missing(d)...)
	}
	return out
}
