package bundle

import (
	"path"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle/nodepath"
)

// Outside is a member that the manifest would place where no file may come from outside, or under a name that no file
// on a node may have.
type Outside struct {
	Member string `json:"member"`
	Place  string `json:"place"` // absolute path on a node; of a package its name, which lies in a directory of Eggo's
	Why    string `json:"why"`   // characters, not-listed, unit, ours
}

// Outside lists what the manifest would place outside the list of directories (internal/bundle/nodepath). Open gives
// the manifest of such a bundle, so that it can be looked at; Verify, Stage and Extract refuse it.
func (m *Manifest) Outside() []Outside {
	var out []Outside
	for _, e := range m.Members {
		switch e.Kind {
		case Binary, ExtraFile, ExtraDir:
			to := m.Target(e)
			if err := nodepath.Check(UseOf(e.Kind), to); err != nil {
				out = append(out, Outside{e.Path, to, nodepath.Why(err)})
			}
		case Deb, RPM, Metadata, Addon:
			if !sentNames(m.Rel(e)) {
				out = append(out, Outside{e.Path, path.Base(e.Path), "characters"})
			}
		}
	}
	return out
}

// UseOf is what a kind of members that are placed is to the list of directories.
func UseOf(k Kind) nodepath.Use {
	switch k {
	case Binary:
		return nodepath.Program
	case ExtraDir:
		return nodepath.Tree
	}
	return nodepath.File
}

// sentNames says whether each element of the path is a name that a file may have in a directory of ours on a node.
func sentNames(rel string) bool {
	for element := range strings.SplitSeq(rel, "/") {
		if !nodepath.Package(element) {
			return false
		}
	}
	return true
}

// maxTold is how many places a fault names.
const maxTold = 10

// placement is the fault of a bundle that would place files outside the list: "bundle.outside".
func (m *Manifest) placement() error {
	list := m.Outside()
	if len(list) == 0 {
		return nil
	}
	var told []string
	for _, o := range list[:min(len(list), maxTold)] {
		told = append(told, o.Place)
	}
	places := strings.Join(told, ", ")
	if len(list) > maxTold {
		places += ", …"
	}
	return fault("bundle.outside", nil, "count", strconv.Itoa(len(list)), "member", list[0].Member, "places", places,
		"choices", strings.Join(nodepath.Dirs(nodepath.File|nodepath.Program), ", "))
}
