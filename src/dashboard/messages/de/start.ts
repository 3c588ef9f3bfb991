export default {
  title: 'Organisationen',
  none: 'Sie sind in keiner Organisation',
  none_lead: 'Wem eine gehört, kann Sie über Ihre E-Mail-Adresse einladen.',
};
