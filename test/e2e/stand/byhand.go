package stand

import (
	_ "embed"
	"errors"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/bundle"
)

// ByHandScript makes a node ready for kubeadm with the content of a bundle in /root/kit; its arguments are packages,
// and PAUSE in its environment is the image of sandboxes.
//
//go:embed byhand.sh
var ByHandScript string

// ByHand is what ByHandScript has to be told of a bundle: the image of sandboxes, and the packages of a control plane.
func ByHand(file string) (pause string, packages []string, err error) {
	a, err := bundle.Open(file)
	if err != nil {
		return "", nil, err
	}
	m := a.Manifest()
	for _, im := range m.Images {
		if strings.Contains(im.Name, "/pause:") {
			pause = im.Name
		}
	}
	for _, p := range m.Install {
		if slices.Contains(p.Roles, bundle.ControlPlane) {
			packages = append(packages, p.Name)
		}
	}
	if pause == "" || len(packages) == 0 {
		return "", nil, errors.New(file + " has no image of sandboxes, or no package for a control plane")
	}
	return pause, packages, nil
}
