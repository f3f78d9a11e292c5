package main

import (
	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/assets/eggops"
	"github.com/eggo-k8s/eggo/internal/output/cli"
)

func newManifestCmd(env *environment) *cobra.Command {
	var image string
	cmd := &cobra.Command{Use: "manifest", Short: env.P.T("operator.cli.manifest.short"),
		Long: env.P.T("operator.cli.manifest.long"), Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			text, err := eggops.Manifest(image)
			if err != nil {
				return err
			}
			_, err = env.Stdout.Write(text)
			return err
		}}
	cmd.Flags().StringVar(&image, "image", "", env.P.T("operator.cli.flag.manifest-image"))
	_ = cmd.MarkFlagRequired("image") // it fails for an unknown flag only
	return cmd
}
