package config

import (
	"errors"

	"go.yaml.in/yaml/v3"
)

// SetImported has a deploy.yaml say that others have made the cluster. The result has been loaded again: the problems
// are those of the new text, and the error is a fault of the text that was given.
func SetImported(data []byte, file string) ([]byte, Problems, error) {
	t, err := readText(data, file)
	if err != nil {
		return nil, nil, err
	}
	key, value := t.pair("eggo")
	if key == nil {
		key, value = t.append("eggo")
	}
	own := asMap(value)
	at := -1
	for i := 0; i+1 < len(own.Content); i += 2 {
		if own.Content[i].Value == "imported" {
			at = i + 1
		}
	}
	if at < 0 {
		appendPair(own, "imported", &yaml.Node{})
		at = len(own.Content) - 1
	}
	if own.Content[at].Value != "true" {
		own.Content[at] = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"}
		t.changed[key] = true
	}
	return t.proved(file, func(c *Cluster) error {
		if !c.Eggo.Imported {
			return errors.New("eggo.imported cannot be written")
		}
		return nil
	})
}

// ImportedByHand returns the problems of a deploy.yaml that has eggo.imported for a cluster that was not imported.
func ImportedByHand(c *Cluster) Problems {
	u := &unsupported{c: c}
	u.add("eggo.imported", "config.imported-by-hand", "cluster", c.Name)
	return u.out.Sorted()
}
