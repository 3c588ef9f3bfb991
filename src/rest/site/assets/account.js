/** Sends the form of an account page as its command, and shows who is signed in afterwards. */

const user = 'user { name }';
const documents = {
  setup: `mutation ($input: SetupInput!) { answer: setup(input: $input) { ${user} } }`,
  signIn: `mutation ($input: SignInInput!) { answer: signIn(input: $input) { ${user} } }`,
  acceptInvitation: `mutation ($input: AcceptInvitationInput!) { answer: acceptInvitation(input: $input) { ${user} } }`,
  resetPassword: `mutation ($input: ResetPasswordInput!) { answer: resetPassword(input: $input) { ${user} } }`,
};

async function graphql(query, variables = {}) {
  const response = await fetch('/graphql', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ query, variables }),
  });
  const body = await response.json();
  const [error] = body.errors ?? (response.ok ? [] : [{ message: body.message }]);
  return { data: body.data ?? null, error };
}

const form = document.querySelector('[data-command]');
const done = document.querySelector('[data-done]');
const alert = form.querySelector('[role=alert]');
const button = form.querySelector('button');
// Read once, and taken out of the address: it is not to stay in the history of the browser.
const secret = location.hash.slice(1);
if (secret !== '') history.replaceState(null, '', location.pathname);

function showSignedIn(name) {
  document.querySelector('[data-form]').hidden = true;
  document.querySelector('[data-name]').textContent = name;
  done.hidden = false;
  done.focus();
}

/** Puts a fault beside its field, or above the form. */
function showFault({ message, extensions }) {
  const [fault] = extensions?.details?.errors ?? [];
  const field = fault && form.elements.namedItem(fault.field.slice(1));
  const place = field ? document.getElementById(`${field.id}-fault`) : alert;
  place.textContent = field ? `${fault.message[0].toUpperCase()}${fault.message.slice(1)}.` : message;
  field?.setAttribute('aria-invalid', 'true');
  (field ?? button).focus();
}

function clearFaults() {
  for (const place of form.querySelectorAll('.fault')) place.textContent = '';
  for (const field of form.elements) field.removeAttribute('aria-invalid');
}

function inputOf() {
  const input = {};
  for (const field of form.querySelectorAll('input')) {
    if (field.type === 'checkbox') input[field.name] = field.checked;
    else if (field.required || field.value !== '') input[field.name] = field.value;
  }
  return form.dataset.command === 'signIn' ? input : { ...input, secret };
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  clearFaults();
  button.disabled = true;
  try {
    const { data, error } = await graphql(documents[form.dataset.command], { input: inputOf() });
    button.disabled = false;
    if (error) showFault(error);
    else showSignedIn(data.answer.user.name);
  } catch {
    button.disabled = false;
    showFault({ message: 'The server cannot be reached. What you typed is still here: try again.' });
  }
});

document.querySelector('[data-sign-out]').addEventListener('click', async () => {
  await graphql('mutation { signOut { message } }');
  location.assign('/sign-in');
});

if (form.dataset.command === 'signIn') {
  const { data } = await graphql('{ me { name } }').catch(() => ({ data: null }));
  if (data?.me) showSignedIn(data.me.name);
}
