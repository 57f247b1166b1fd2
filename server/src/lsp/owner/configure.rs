//! The settings of documents: those of the editor, those of the `lockstep.toml` beside them, and those of
//! builds.

use super::*;

impl Owner {
    pub(super) fn set_editor(&mut self, settings: serde_json::Value) {
        let mut config = Config::default();
        // Its problems are the client's; they are logged.
        for problem in config::apply_json(
            &mut config,
            &settings,
            self.folders.first().map(PathBuf::as_path),
        ) {
            tracing::warn!("settings: {}", problem.message);
        }
        self.debounce = config
            .debounce_ms
            .map_or(DEFAULT_DEBOUNCE, Duration::from_millis);
        if self.assembler.configure(&settings) {
            self.forget_figures();
        }
        self.editor = settings;
        self.configure();
    }

    /// Computes the settings of every open file anew.
    pub(super) fn configure(&mut self) {
        let known: Vec<SettingsKey> = self.settings.keys().cloned().collect();
        for key in known {
            let _ = self.settings_for(key);
        }
        let names: Vec<String> = self.open.keys().cloned().collect();
        for name in names {
            self.configure_one(&name);
        }
    }

    pub(super) fn configure_one(&mut self, name: &str) {
        let Some(Open {
            path,
            file: Some(file),
            ..
        }) = self.open.get(name)
        else {
            return;
        };
        let (path, file) = (host::normalize(path), *file);
        self.configure_file(&path, file);
        let config = file.settings(&self.db).analysis(&self.db);
        let chosen = config.seen_through_of(&path).cloned();
        let through = chosen.chain(file.includers(&self.db).iter().cloned());
        let through: Vec<PathBuf> = through.map(|path| host::normalize(&path)).collect();
        for path in through {
            // What is open is configured as such.
            if !self.uris.contains_key(&path) {
                let file = self.db.file(&path);
                self.configure_file(&path, file);
            }
        }
    }

    pub(super) fn configure_file(&mut self, path: &Path, file: File) {
        let config = config::candidates(path)
            .map(|path| host::normalize(&path))
            .find(|candidate| self.text_of_config(candidate).is_some());
        let speaks =
            file.language(&self.db).c_dialect().is_some() && self.command_of(path).is_some();
        let key = SettingsKey {
            config,
            command_of: speaks.then(|| path.to_owned()),
        };
        let settings = self.settings_for(key);
        self.db.set_file_settings(file, settings);
    }

    /// A configuration file that governs an open file is not open itself: its problems are published.
    pub(super) fn tell_problems(&mut self, path: &Path) {
        let mut diagnostics = Vec::new();
        if !self.uris.contains_key(path)
            && let Some(text) = self.text_of_config(path)
        {
            let problems = self.problems_of_config(&text, path.parent());
            diagnostics = convert::config_diagnostics(
                &text,
                &problems,
                self.encoding,
                self.shared.features().has_views,
            );
        }
        let news = match self.told.get(path) {
            Some(told) => *told != diagnostics,
            None => !diagnostics.is_empty(),
        };
        if news && let Some(uri) = Uri::from_file_path(path) {
            self.told.insert(path.to_owned(), diagnostics.clone());
            self.outgoing.publish(Publication {
                uri,
                diagnostics,
                version: None,
            });
        }
    }

    pub(super) fn settings_for(&mut self, key: SettingsKey) -> Settings {
        if let Some(path) = &key.config {
            self.tell_problems(path);
        }
        let mut config = Config::default();
        if let Some(path) = &key.config
            && let Some(text) = self.text_of_config(path)
        {
            let directory = path.parent().unwrap_or(Path::new(""));
            config::apply_toml(&mut config, &text, directory);
        }
        let root = self.folders.first().map(PathBuf::as_path);
        config::apply_json(&mut config, &self.editor, root);
        let command = key.command_of.as_ref();
        let flags = command.and_then(|path| self.commands.get(path)?.as_deref());
        config::apply_command(&mut config.analysis, flags.cloned());
        if let Some(debounce) = config.debounce_ms {
            self.debounce = Duration::from_millis(debounce);
        }
        let baseline = match &config.view.baseline {
            Some(path) => {
                let text = self.on_disk(&host::normalize(path)).unwrap_or_default();
                crate::baseline::parse(path, &text).unwrap_or_else(|error| {
                    tracing::warn!("{error}");
                    Vec::new()
                })
            }
            None => Vec::new(),
        };
        match self.settings.get(&key) {
            Some(&settings) => {
                self.db
                    .set_settings(settings, config.analysis, config.view, baseline);
                settings
            }
            None => {
                let settings = self.db.new_settings(config.analysis, config.view, baseline);
                self.settings.insert(key, settings);
                settings
            }
        }
    }

    /// The text of a file that is no input of the database.
    pub(super) fn on_disk(&mut self, path: &Path) -> Option<String> {
        let db = &self.db;
        let source = self
            .on_disk
            .entry(path.to_owned())
            .or_insert_with(|| db.read_from_disk(path));
        match source {
            Source::Text { text, .. } => Some(text.to_string()),
            Source::Missing | Source::Unusable(_) => None,
        }
    }

    pub(super) fn text_of_config(&mut self, path: &Path) -> Option<String> {
        match self
            .uris
            .get(path)
            .and_then(|uri| self.open.get(uri.as_str()))
        {
            Some(open) => Some(open.document.text().to_string()),
            None => self.on_disk(path),
        }
    }

    /// Hands changed texts to the database.
    pub(super) fn flush(&mut self) {
        for open in self.open.values_mut().filter(|open| open.dirty) {
            open.dirty = false;
            if let Some(file) = open.file {
                self.db.set_source(
                    file,
                    Source::Text {
                        text: open.document.text(),
                        lossy: false,
                    },
                );
            }
        }
    }

    /// Returns the problems with a `lockstep.toml`, and at `machine_file` those of the table that it names.
    pub(super) fn problems_of_config(
        &self,
        text: &str,
        directory: Option<&Path>,
    ) -> Vec<ConfigProblem> {
        let mut config = Config::default();
        let mut problems =
            config::apply_toml(&mut config, text, directory.unwrap_or(Path::new("")));
        if let Some(path) = &config.analysis.machine_file {
            problems.extend(program::machine_file_problem(
                &self.db,
                path,
                config.machine_place,
            ));
        }
        problems
    }

    /// Returns true if a file is some configuration's table of a machine.
    pub(super) fn is_machine(&self, path: &Path) -> bool {
        let path = host::normalize(path);
        self.settings.values().any(|settings| {
            let file = &settings.analysis(&self.db).machine_file;
            file.as_ref()
                .is_some_and(|file| host::normalize(file) == path)
        })
    }
}
