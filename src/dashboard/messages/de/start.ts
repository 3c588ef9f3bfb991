export default {
  title: 'Organisationen',
  welcome: 'Willkommen, {{name}}',
  lead: 'Wählen Sie eine Organisation: Ihre Projekte sind die Websites, an denen Sie arbeiten.',
  none: 'Sie sind in keiner Organisation',
  none_lead: 'Wer eine verwaltet, kann Sie mit Ihrer E-Mail-Adresse einladen.',
};
