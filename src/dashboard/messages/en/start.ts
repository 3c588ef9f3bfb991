export default {
  title: 'Organisations',
  none: 'You are in no organisation',
  none_lead: 'Somebody who owns one can invite you by your e-mail.',
};
