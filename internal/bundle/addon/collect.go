package addon

import (
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// File is a manifest of a directory. Path is where it stands there; Name is what it is called in a bundle, where addons
// lie side by side: the path with __ for each slash.
type File struct {
	Path, Name string
	Data       []byte
}

// fileRE is how deploy.yaml can name an addon.
var fileRE = regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9._-]*\.(?:yaml|yml|json)\z`)

// Collect reads the manifests of a directory and those below it, sorted by Name, which is the order they are applied in
// when nobody says another. Everything there must be a regular file called .yaml, .yml or .json; hidden files and
// directories (.git, .helmignore) are passed over. Links are refused, and so are names that fall together, also when
// only the case of letters tells them apart.
func Collect(fsys fs.FS) ([]File, error) {
	var out []File
	total := int64(0)
	names := map[string]string{}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fault("addon.read", err, "file", p)
		case p != "." && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return fault("addon.file-kind", nil, "file", p)
		}
		name := strings.ReplaceAll(p, "/", "__")
		switch ext := path.Ext(p); {
		case ext != ".yaml" && ext != ".yml" && ext != ".json":
			return fault("addon.file-type", nil, "file", p)
		case strings.EqualFold(strings.TrimSuffix(d.Name(), ext), "kustomization"):
			return fault("addon.kustomization", nil, "file", p)
		case !fileRE.MatchString(name) || len(name) > 128:
			return fault("addon.file-name", nil, "file", p, "name", name)
		}
		if other, twice := names[strings.ToLower(name)]; twice {
			return fault("addon.file-collision", nil, "file", p, "other", other, "name", name)
		}
		names[strings.ToLower(name)] = p
		info, err := d.Info()
		if err != nil {
			return fault("addon.read", err, "file", p)
		}
		if len(out) == maxFiles || info.Size() > maxManifest-total {
			return fault("addon.too-large", nil, "addon", p, "limit", mib(maxManifest))
		}
		data, err := readFile(fsys, p, maxManifest-total)
		if err != nil {
			return fault("addon.read", err, "file", p)
		}
		if total += int64(len(data)); total > maxManifest {
			return fault("addon.too-large", nil, "addon", p, "limit", mib(maxManifest))
		}
		out = append(out, File{p, name, data})
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// readFile reads a file and at most one byte more than limit.
func readFile(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}
