export default {
  NETWORK:
    'Der Server ist nicht zu erreichen. Was Sie geschrieben haben, ist noch da: Versuchen Sie es gleich noch einmal.',
  UNAUTHENTICATED: 'Ihre Sitzung ist abgelaufen. Melden Sie sich noch einmal an.',
  internal:
    'Auf dem Server ist etwas schiefgegangen. Versuchen Sie es noch einmal; wenn es so bleibt, steht der Grund in seinem Protokoll.',
  unavailable: 'Der Server ist überlastet, oder seine Datenbank fehlt. Versuchen Sie es gleich noch einmal.',
  storage_full: 'Die Festplatte des Servers ist voll. Es wurde nichts gespeichert.',
};
