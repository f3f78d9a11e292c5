package i18n

// parts lists the catalogues of a language, one a room.
func parts(lang Lang) []map[string]string {
	if lang == Chinese {
		return []map[string]string{
			zhCommon(),
			zhBundle(),
			zhBundleCLI(),
			zhDebs(),
			zhRPM(),
			zhReader(),
			zhFetch(),
			zhRegistry(),
			zhSign(),
			zhDiff(),
			zhEngine(),
			zhReport(),
			zhCLI(),
			zhConfig(),
			zhTemplate(),
			zhPhases(),
			zhPreflight(),
			zhRun(),
			zhVerbs(),
			zhPKI(),
			zhPack(),
			zhRemote(),
			zhBuild(),
			zhAddon(),
		}
	}
	return []map[string]string{
		enCommon(),
		enBundle(),
		enBundleCLI(),
		enDebs(),
		enRPM(),
		enReader(),
		enFetch(),
		enRegistry(),
		enSign(),
		enDiff(),
		enEngine(),
		enReport(),
		enCLI(),
		enConfig(),
		enTemplate(),
		enPhases(),
		enPreflight(),
		enRun(),
		enVerbs(),
		enPKI(),
		enPack(),
		enRemote(),
		enBuild(),
		enAddon(),
	}
}
