package node

import (
	_ "embed"

	"github.com/eggo-k8s/eggo/internal/remote/shell"
)

// Edited is a script that prints which files are not what their service was started with.
//
//go:embed edited.sh
var Edited string

// Written is the script that notes with which files what has the stamp of that name was started, for Edited.
func Written(name string, files []File) string {
	if len(files) == 0 {
		return ""
	}
	paths := make([]string, 0, len(files))
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	return "written " + shell.Quote(name) + " " + shell.QuoteAll(paths) + "\n"
}
