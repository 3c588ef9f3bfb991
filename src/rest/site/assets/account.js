/** Sends the form of an account page as its command, and shows who is signed in afterwards. */

const user = 'user { name }';
const documents = {
  setup: `mutation ($input: SetupInput!) { answer: setup(input: $input) { ${user} } }`,
  signIn: `mutation ($input: SignInInput!) { answer: signIn(input: $input) { ${user} } }`,
  acceptInvitation: `mutation ($input: AcceptInvitationInput!) { answer: acceptInvitation(input: $input) { ${user} } }`,
  resetPassword: `mutation ($input: ResetPasswordInput!) { answer: resetPassword(input: $input) { ${user} } }`,
};

async function graphql(query, variables = {}) {
  const send = () =>
    fetch('/graphql', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    });
  const first = await send();
  // The session had ended: the answer has removed its cookie.
  const response = first.status === 401 ? await send() : first;
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

/** Why the way over the provider did not lead to a session, by code. */
const refusals = {
  unauthenticated: 'No account here is linked to yours there. Sign in with your password first, and link it.',
  forbidden: 'The provider did not confirm who you are, or it took too long. Try again.',
  already_exists: 'That account is linked to another account here.',
  reauthentication_required: 'To link an account, sign in again first.',
  unavailable: 'The provider cannot be reached at the moment. Try again.',
};

if (form.dataset.command === 'signIn') {
  const { data } = await graphql('{ me { name } instance { oidc password_sign_in } }').catch(() => ({ data: null }));
  const { oidc, password_sign_in } = data?.instance ?? {};
  for (const link of document.querySelectorAll('[data-provider]')) {
    link.hidden = !oidc;
    link.querySelector('[data-host]').textContent = oidc;
  }
  form.hidden = password_sign_in === false;
  if (data?.me) showSignedIn(data.me.name);
  if (secret !== '')
    document.querySelector('[data-problem]').textContent = refusals[secret] ?? 'Something went wrong. Try again.';
}
