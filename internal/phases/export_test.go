package phases

// RepoInstall is the script that installs packages from a machine's own repositories.
var RepoInstall = repoInstall
