export default {
  NETWORK:
    'Der Server ist nicht zu erreichen. Was Sie geschrieben haben, ist noch da: Versuchen Sie es gleich noch einmal.',
  UNAUTHENTICATED: 'Ihre Sitzung ist abgelaufen. Melden Sie sich noch einmal an.',
  internal:
    'Auf dem Server ist etwas schiefgegangen. Versuchen Sie es noch einmal; wenn es so bleibt, steht der Grund in seinem Protokoll.',
  unavailable: 'Der Server ist überlastet, oder seine Datenbank fehlt. Versuchen Sie es gleich noch einmal.',
  storage_full: 'Die Festplatte des Servers ist voll oder schreibgeschützt. Es wurde nichts gespeichert.',
  rate_limited: 'Zu viele Versuche. Warten Sie einen Moment, und versuchen Sie es noch einmal.',
  rate_limited_for_one: 'Zu viele Fehlversuche. Versuchen Sie es in {{count}} Minute noch einmal.',
  rate_limited_for_other: 'Zu viele Fehlversuche. Versuchen Sie es in {{count}} Minuten noch einmal.',
  wrong_password: 'Das Passwort ist falsch.',
  request_timeout: 'Der Server hat zu lange auf die Anfrage gewartet. Versuchen Sie es noch einmal.',
  git_timeout:
    'git hat zu lange gebraucht. Versuchen Sie es noch einmal; wenn es so bleibt, ist das Repository zu groß für diesen Server.',
  repository_unavailable: 'Das Repository ist gerade nicht zu lesen. Versuchen Sie es gleich noch einmal.',
  branch_moved: 'Jemand hat inzwischen gespeichert. Laden Sie die Seite neu, und versuchen Sie es noch einmal.',
  sha_mismatch: 'Jemand hat das inzwischen geändert. Es wurde nichts überschrieben.',
  version_mismatch: 'Jemand hat das inzwischen geändert. Es wurde nichts überschrieben.',
  precondition_failed: 'Jemand hat das inzwischen geändert. Es wurde nichts überschrieben.',
  reauthentication_required: 'Dafür wird Ihr Passwort noch einmal gebraucht.',
  unsupported_media:
    'Dateien dieser Art werden nicht angenommen, oder die Datei ist nicht das, was ihr Name sagt. Angenommen werden Bilder, Videos, Ton, Schriften, PDF, Office-Dokumente und reiner Text.',
  checks_failed:
    'Das Veröffentlichen wird zurückgehalten: Die Prüfungen haben Fehler gefunden, die die veröffentlichte Fassung nicht hat.',
};
