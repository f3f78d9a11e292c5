package main

import (
	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/output/cli"
)

// verbs lists the program's commands, each in the file of its name.
func verbs(env *environment) []*cobra.Command {
	return []*cobra.Command{
		newDeployCmd(env),
		newUpgradeCmd(env),
		newCleanupCmd(env),
		newAttachCmd(env),
		newDemoCmd(env),
		newEtcdCmd(env),
		newBackupCmd(env),
		newImportCmd(env),
		newHandoverCmd(env),
		newResumeCmd(env),
		newListCmd(env),
		newStatusCmd(env),
		newLogsCmd(env),
		newSupportCmd(env),
		newPlanCmd(env),
		newPreflightCmd(env),
		newJoinCmd(env),
		newDeleteCmd(env),
		newCertsCmd(env),
		newKubeconfigCmd(env),
		newSignersCmd(env),
		newTemplateCmd(env),
		newValidateCmd(env),
		newVersionCmd(env),
		cli.NewCompletion(env.P.T("cli.completion.short"), env.Stdout),
		cli.NewMan(buildVersion()),
	}
}
