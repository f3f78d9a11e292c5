package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/event"
)

// trustOptions are the flags of the verbs that install from a bundle.
type trustOptions struct {
	signers       string // an allowed_signers file for this run, in place of the host's
	allowUnsigned bool
}

func (o *trustOptions) trustFlags(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringVar(&o.signers, "signers", "", env.P.T("cli.flag.signers"))
	cmd.Flags().BoolVar(&o.allowUnsigned, "allow-unsigned", false, env.P.T("cli.flag.allow-unsigned"))
}

// jsonBundle is a bundle and who signed it, as a line or in the status. The names of its fields do not change.
type jsonBundle struct {
	Type        string `json:"type"` // bundle
	File        string `json:"file"`
	Name        string `json:"name"`
	Arch        string `json:"arch"`
	ID          string `json:"id"`
	Signature   string `json:"signature"` // signed, unsigned, unknown-signer, overridden
	Identity    string `json:"identity,omitempty"`
	KeyType     string `json:"key_type,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Code        string `json:"code,omitempty"` // of the fault that was overridden
}

// bundleOf reads what staging.Checked.Msg says.
func bundleOf(m event.Msg) jsonBundle {
	a := m.Args
	return jsonBundle{"bundle", a["file"], a["name"], a["arch"], a["id"], strings.TrimPrefix(m.Key, trustKeys),
		a["who"], a["type"], a["key"], a["code"]}
}

// trustKeys begin the keys of what staging.Checked.Msg says.
const trustKeys = "trust."

func printBundles(env *environment, bundles []event.Msg) {
	for _, m := range bundles {
		fmt.Fprintln(env.Stdout, env.P.Msg(m))
	}
}

func bundlesJSON(out *lines, bundles []event.Msg) {
	for _, m := range bundles {
		out.put(bundleOf(m))
	}
}
