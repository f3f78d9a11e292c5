package rpm

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// moduleDoc is what matters of the documents modulemd (one stream of a module in one build) and modulemd-defaults.
// https://github.com/fedora-modularity/libmodulemd/tree/main/yaml_specs
type moduleDoc struct {
	Document string `yaml:"document"`
	Data     struct {
		Name      string    `yaml:"name"`
		Module    string    `yaml:"module"`
		Stream    yaml.Node `yaml:"stream"` // may look like a number
		Artifacts struct {
			RPMs []string `yaml:"rpms"`
		} `yaml:"artifacts"`
	} `yaml:"data"`
}

const maxModuleDocs = 100000

// AddModules reads a modules.yaml. Of each module the default stream is active, or the one that streams (module →
// stream) names; packages of other streams are hidden, and so are packages outside of modules that have the name of one
// in an active stream. Fault: "rpm.modules".
func (x *Index) AddModules(r io.Reader, repository string, streams map[string]string) error {
	if err := x.readModules(r, streams); err != nil {
		return event.NewFault(event.ClassFailed, "rpm.modules", err, "repository", repository)
	}
	return nil
}

func (x *Index) readModules(r io.Reader, streams map[string]string) error {
	active := map[string]string{}
	var list []moduleDoc
	dec := yaml.NewDecoder(&checkedReader{r: r, left: maxModules})
	for n := 0; ; n++ {
		if n == maxModuleDocs {
			return fmt.Errorf("more than %d documents", maxModuleDocs)
		}
		var d moduleDoc
		if err := dec.Decode(&d); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		switch d.Document {
		case "modulemd-defaults":
			if d.Data.Stream.Value != "" {
				active[d.Data.Module] = d.Data.Stream.Value
			}
		case "modulemd":
			list = append(list, d)
		}
	}
	for m, s := range streams {
		active[m] = s
	}
	for _, d := range list {
		on := d.Data.Stream.Value != "" && active[d.Data.Name] == d.Data.Stream.Value
		for _, nevra := range d.Data.Artifacts.RPMs {
			if !on {
				x.hidden[nevra] = true
				continue
			}
			x.active[nevra] = true
			if name, ok := nameOf(nevra); ok {
				x.owned[name] = true
			}
		}
	}
	x.ready = false
	return nil
}

// nameOf cuts name-epoch:version-release.arch.
func nameOf(nevra string) (string, bool) {
	i := strings.LastIndexByte(nevra, '-')
	if i < 0 {
		return "", false
	}
	i = strings.LastIndexByte(nevra[:i], '-')
	if i <= 0 {
		return "", false
	}
	return nevra[:i], true
}
