package registry

import (
	"os"
	"strings"

	"github.com/docker/cli/cli/config"
	"github.com/docker/cli/cli/config/types"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// Keychain has the credentials of this machine's user: the file that $REGISTRY_AUTH_FILE names, as podman and skopeo
// read it; what it does not know is asked of docker's configuration and its helper programs, or of podman's file where
// docker has none.
func Keychain() authn.Keychain {
	return authn.NewMultiKeychain(named(""), authn.DefaultKeychain)
}

// KeychainFile has the credentials of one file, in the form of docker's configuration, and no others.
func KeychainFile(file string) authn.Keychain { return named(file) }

// named reads a file; "": $REGISTRY_AUTH_FILE. go-containerregistry itself looks there only if docker has no
// configuration at all.
type named string

func (n named) Resolve(target authn.Resource) (authn.Authenticator, error) {
	where := string(n)
	if where == "" {
		where = os.Getenv("REGISTRY_AUTH_FILE")
	}
	if where == "" {
		return authn.Anonymous, nil
	}
	f, err := os.Open(where)
	if os.IsNotExist(err) {
		return authn.Anonymous, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	file, err := config.LoadFromReader(f)
	if err != nil {
		return nil, err
	}
	// podman's keys are hosts, and paths below them: the longest counts.
	host, path, _ := strings.Cut(target.String(), "/")
	var keys []string
	if host == name.DefaultRegistry {
		host, keys = "docker.io", []string{authn.DefaultAuthKey}
	}
	for key := host + "/" + path; ; key = key[:strings.LastIndex(key, "/")] {
		if c := file.AuthConfigs[key]; c.Username != "" || c.IdentityToken != "" || c.RegistryToken != "" {
			return authenticator(c), nil
		}
		if !strings.Contains(key, "/") {
			break
		}
	}
	// What docker login wrote, and helper programs.
	for _, key := range append(keys, host) {
		if _, ok := file.AuthConfigs[key]; !ok && file.CredentialHelpers[key] == "" && file.CredentialsStore == "" {
			continue
		}
		c, err := file.GetAuthConfig(key)
		if err != nil {
			return nil, err
		}
		if c.Username != "" || c.IdentityToken != "" || c.RegistryToken != "" {
			return authenticator(c), nil
		}
	}
	return authn.Anonymous, nil
}

func authenticator(c types.AuthConfig) authn.Authenticator {
	return authn.FromConfig(authn.AuthConfig{Username: c.Username, Password: c.Password, IdentityToken: c.IdentityToken,
		RegistryToken: c.RegistryToken})
}
