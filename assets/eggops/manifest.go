package eggops

import (
	"encoding/json"
	"io/fs"
	"path"
	"strings"
)

// Namespace is that of the operator.
const Namespace = "eggops-system"

// placeholder is the name of the image in manager.yaml.
const placeholder = "eggops"

// Manifest returns eggops.yaml: all that the operator needs to run with an image, for clusters in all namespaces. The
// policies that refuse deletions are not in it, so that a deletion of the file leaves them in place.
func Manifest(image string) ([]byte, error) {
	names, err := fs.Glob(files, "crds/*.yaml")
	if err != nil {
		return nil, err
	}
	names = append([]string{"namespace.yaml"}, names...)
	names = append(names, "rbac.yaml", "roles.yaml", "everywhere/secrets.yaml", "manager.yaml")
	text, err := join(names...)
	if err != nil {
		return nil, err
	}
	quoted, err := json.Marshal(image) // YAML reads JSON's strings
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"image: ", "value: "} {
		text = strings.ReplaceAll(text, key+placeholder+"\n", key+string(quoted)+"\n")
	}
	return []byte(text), nil
}

// Definitions returns the custom resource definitions.
func Definitions() ([]byte, error) {
	names, err := fs.Glob(files, "crds/*.yaml")
	if err != nil {
		return nil, err
	}
	text, err := join(names...)
	return []byte(text), err
}

// Policies returns eggops-policies.yaml: the policies that refuse deletions.
func Policies() ([]byte, error) { return files.ReadFile("policies.yaml") }

// join returns files as one stream of YAML.
func join(names ...string) (string, error) {
	var out []string
	for _, name := range names {
		data, err := files.ReadFile(path.Clean(name))
		if err != nil {
			return "", err
		}
		out = append(out, strings.TrimPrefix(strings.TrimSpace(string(data)), "---\n"))
	}
	return strings.Join(out, "\n---\n") + "\n", nil
}
