package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/account"
	"github.com/eggo-k8s/eggo/internal/server/database"
	"github.com/eggo-k8s/eggo/internal/server/manager"
	"github.com/eggo-k8s/eggo/internal/server/manager/records"
)

// dataDir is where the server keeps its own files unless told otherwise.
const dataDir = "/var/lib/eggo-server"

// newUser are the commands for users. They work while the server runs, and when nobody can log in any more.
func newUser(env *environment) *cobra.Command {
	p := env.P
	group := &cobra.Command{Use: "user", Short: p.T("server.cli.user.short"), Args: cli.UnknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	data := ""
	group.PersistentFlags().StringVar(&data, "data-dir", dataDir, p.T("server.cli.flag.data-dir"))
	var role string
	var grants []string
	one := cobra.ExactArgs(1)
	add := &cobra.Command{Use: "add NAME", Short: p.T("server.cli.user.add.short"), Args: one,
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.database(cmd.Context(), data, func(db *database.DB, a *account.Accounts) error {
				return addUser(cmd.Context(), env, db, a, args[0], role, grants)
			})
		}}
	add.Flags().StringVar(&role, "role", "", p.T("server.cli.flag.role"))
	add.Flags().StringSliceVar(&grants, "cluster", nil, p.T("server.cli.flag.cluster"))
	reset := &cobra.Command{Use: "reset NAME", Short: p.T("server.cli.user.reset.short"), Args: one,
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.accounts(cmd.Context(), data, func(a *account.Accounts) error {
				password, err := env.password()
				if err == nil {
					err = named(cmd.Context(), a, args[0], func(id string) error {
						return a.Reset(cmd.Context(), id, password)
					})
				}
				return errors.Join(err, env.recorded(cmd.Context(), a, err, "reset-password", args[0]))
			})
		}}
	remove := &cobra.Command{Use: "delete NAME", Short: p.T("server.cli.user.delete.short"), Args: one,
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.accounts(cmd.Context(), data, func(a *account.Accounts) error {
				err := named(cmd.Context(), a, args[0], func(id string) error { return a.Delete(cmd.Context(), id) })
				return errors.Join(err, env.recorded(cmd.Context(), a, err, "delete-user", args[0]))
			})
		}}
	list := &cobra.Command{Use: "list", Short: p.T("server.cli.user.list.short"), Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.accounts(cmd.Context(), data, func(a *account.Accounts) error {
				return listUsers(cmd.Context(), env, a)
			})
		}}
	revoke := &cobra.Command{Use: "revoke-tokens NAME", Short: p.T("server.cli.user.revoke-tokens.short"), Args: one,
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.accounts(cmd.Context(), data, func(a *account.Accounts) error {
				n := int64(0)
				err := named(cmd.Context(), a, args[0], func(id string) (err error) {
					n, err = a.RevokeTokens(cmd.Context(), id)
					return err
				})
				if err == nil {
					fmt.Fprintln(env.Stdout, p.T("server.user.revoked", "n", strconv.FormatInt(n, 10), "name", args[0]))
				}
				return errors.Join(err, env.recorded(cmd.Context(), a, err, "revoke-tokens", args[0]))
			})
		}}
	group.AddCommand(add, list, reset, revoke, remove)
	return group
}

// named does something with the ID of the user who has a name. What looks like an ID is a name here, too.
func named(ctx context.Context, a *account.Accounts, name string, do func(id string) error) error {
	u, err := a.ByName(ctx, name)
	if err != nil {
		return err
	}
	return do(u.ID)
}

// accounts opens the accounts of the server for one command.
func (env *environment) accounts(ctx context.Context, data string, do func(*account.Accounts) error) error {
	return env.database(ctx, data, func(_ *database.DB, a *account.Accounts) error { return do(a) })
}

// database opens the database of the server for one command.
func (env *environment) database(
	ctx context.Context, data string, do func(*database.DB, *account.Accounts) error,
) (err error) {
	db, err := database.Open(ctx, filepath.Join(data, databaseFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	a, err := account.Open(ctx, db, account.Options{})
	if err != nil {
		return err
	}
	return do(db, a)
}

// recorded writes down what was done on the control host, if it was done.
func (env *environment) recorded(ctx context.Context, a *account.Accounts, failed error, action, target string) error {
	if failed != nil {
		return nil
	}
	return a.Record(ctx, access.Entry{Caller: access.Caller{Name: account.Console}, Address: "eggo-server",
		Action: action, Target: target})
}

// password is the first line of stdin, which is not echoed on a terminal.
func (env *environment) password() (string, error) {
	if f, ok := env.Stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(env.Stderr, env.P.T("server.password")+": ")
		text, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(env.Stderr)
		return string(text), err
	}
	line, err := bufio.NewReader(io.LimitReader(env.Stdin, 4096)).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}

// onClusters refuses roles on clusters that the server does not have, as the API does: they would be rights on whatever
// gets the name.
func onClusters(ctx context.Context, db *database.DB, grants account.Grants) error {
	if len(grants) == 0 {
		return nil
	}
	store, err := records.Open(ctx, db, nil)
	if err != nil {
		return err
	}
	list, err := store.Load(ctx)
	if err != nil {
		return err
	}
	var out []error
	for _, name := range slices.Sorted(maps.Keys(grants)) {
		if !slices.ContainsFunc(list, func(r manager.Record) bool { return r.Name == name }) {
			out = append(out, event.NewFault(event.ClassUsage, "account.no-cluster", nil, "cluster", name))
		}
	}
	return errors.Join(out...)
}

func addUser(
	ctx context.Context, env *environment, db *database.DB, a *account.Accounts, name, role string, grants []string,
) error {
	n := account.New{Name: name, Role: access.Role(role), Grants: account.Grants{}}
	for _, g := range grants {
		cluster, role, _ := strings.Cut(g, "=")
		n.Grants[cluster] = access.Role(role)
	}
	err := onClusters(ctx, db, n.Grants)
	if err != nil {
		return err
	}
	if n.Password, err = env.password(); err != nil {
		return err
	}
	u, err := a.Create(ctx, n)
	if err == nil {
		fmt.Fprintln(env.Stdout, env.P.T("server.user.added", "name", u.Name))
	}
	return errors.Join(err, env.recorded(ctx, a, err, "create-user", name))
}

// listUsers writes a line for each: name, role, roles on clusters, and what is special.
func listUsers(ctx context.Context, env *environment, a *account.Accounts) error {
	for after := ""; ; {
		list, err := a.Users(ctx, after, 100)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, u := range list {
			words := []string{event.Clean(u.Name), string(u.Role)}
			for cluster, role := range u.Grants {
				words = append(words, cluster+"="+string(role))
			}
			slices.Sort(words[2:])
			if u.Disabled {
				words = append(words, "disabled")
			}
			if u.Provider {
				words = append(words, "single-sign-on")
			}
			if u.LikeID() {
				fmt.Fprintln(env.Stderr, env.P.T("server.user.like-id", "name", u.Name))
			}
			words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
			fmt.Fprintln(env.Stdout, strings.Join(words, "  "))
		}
		after = list[len(list)-1].Name
	}
}
