package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle/spec"
	"github.com/eggo-k8s/eggo/internal/output/cli"
)

func newSpec(env *environment) *cobra.Command {
	p := env.P
	cmd := &cobra.Command{
		Use: "spec", Short: p.T("bundle.cli.spec.short"),
		Long: p.T("bundle.cli.spec.long"), Args: cli.Exactly(),
		Example: "  eggo-bundle spec > spec.yaml\n  eggo-bundle spec --os openeuler-24.03 -f deploy.yaml > spec.yaml",
	}
	system := cmd.Flags().String("os", "", osFlag(env))
	file := cmd.Flags().StringP("file", "f", "", p.T("bundle.cli.flag.derive"))
	schema := cmd.Flags().Bool("schema", false, p.T("bundle.cli.flag.schema"))
	list := cmd.Flags().Bool("list", false, p.T("bundle.cli.flag.list"))
	cmd.RunE = func(*cobra.Command, []string) error {
		if *list {
			return listSystems(env)
		}
		if *schema {
			_, err := env.Stdout.Write(spec.Schema())
			return err
		}
		text, err := defaultSpec(*system)
		if err != nil {
			return err
		}
		if *file == "" {
			_, err := env.Stdout.Write(text)
			return err
		}
		c, err := loadDeploy(env, *file)
		if err != nil {
			return err
		}
		d := derive(p, string(text), *file, c)
		if _, err := spec.Parse([]byte(d.text())); err != nil {
			return err
		}
		for _, n := range d.notes {
			env.tell(p.T("cli.warning") + ": " + n)
		}
		_, err = io.WriteString(env.Stdout, d.text())
		return err
	}
	return cmd
}
