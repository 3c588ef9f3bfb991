export default {
  title: 'Organisations',
  welcome: 'Welcome, {{name}}',
  lead: 'Choose an organisation: its projects are the sites you work on.',
  none: 'You are in no organisation',
  none_lead: 'Somebody who owns one can invite you by your e-mail.',
};
