package main

import (
	"path/filepath"

	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/operation/store"
)

// savedName in a cluster's state directory is its own deploy.yaml.
const savedName = store.ConfigName

// deployFile is -f, or ~/.eggo/deploy.yaml.
func deployFile(env *environment, file string) (string, error) {
	if file == "" {
		file = filepath.Join(env.Getenv("HOME"), ".eggo", "deploy.yaml")
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return "", event.NewFault(event.ClassUsage, "config.unreadable", err, "file", file)
	}
	return path, nil
}
