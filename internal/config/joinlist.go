package config

import (
	"bytes"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// JoinList has machines as lists by role, as LoadNodes reads them.
func JoinList(machines []Machine) ([]byte, error) {
	type entry struct {
		Name string `yaml:"name,omitempty"`
		IP   string `yaml:"ip"`
		Port int    `yaml:"port,omitempty"`
		Arch string `yaml:"arch,omitempty"`
	}
	keys := map[bundle.Role]string{bundle.ControlPlane: "masters", bundle.Worker: "nodes", bundle.Etcd: "etcds"}
	lists := map[string][]entry{}
	for _, m := range machines {
		x := entry{Name: m.Name, IP: m.IP, Arch: m.Arch}
		x.Port, _ = strconv.Atoi(m.Port) // "" is left out; it was judged as it was typed
		for role, key := range keys {
			if m.Has(role) {
				lists[key] = append(lists[key], x)
			}
		}
	}
	var b bytes.Buffer
	err := yaml.NewEncoder(&b).Encode(lists)
	return b.Bytes(), err
}
