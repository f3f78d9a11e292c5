package main

import (
	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/output/cli"
)

// completions is what a shell completes after each flag and verb.
func completions() cli.Values {
	nothing, file := cobra.NoFileCompletions, cli.Files()
	return cli.Values{
		"--lang": cli.Words("en", "zh"), "--output": cli.Words(cli.Text, cli.JSON),
		"--arch": cli.List(cli.Always("amd64", "arm64")), "--os": cli.Words(assets.Systems()...),
		"--file": cli.Files("yaml", "yml"), "--out": cli.Dirs(), "--lock": file, "--cache": cli.Dirs(), "--ca": file,
		"--mirror": nothing, "--mirrors": file, "--mirror-preset": cli.Words(assets.MirrorPresets()...),
		"--insecure": nothing, "--signers": file, "--state-dir": cli.Dirs(), "--identity": nothing, "--base": file,
		"--split": cli.Words("700M", "4G"), "--connections": nothing,
		"--to": nothing, "--temp": cli.Dirs(), "--key": file, "keygen --out": file, "--comment": nothing,
		"--max-age": cli.Words("12h", "30d"), "--max-size": cli.Words("20G"),

		"--name": nothing, "--kubernetes": nothing,

		"adopt": file, "diff": file, "extract": file, "inspect": file, "push": file, "sign": file, "verify": file,
	}
}
