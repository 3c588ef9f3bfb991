/** The pages by which people come in: the first account, sign-in, and what links for invitations and new passwords lead to. */
import { type Html, html } from './html.ts';
import { layout } from './layout.ts';

interface Field {
  /** Of the command's input. */
  name: string;
  label: string;
  type: 'text' | 'email' | 'password' | 'checkbox';
  /** What a browser or a password manager may fill in (HTML, "autofill"). */
  autocomplete: string;
  hint?: string;
  /** It may be left empty. */
  isOptional?: true;
}

/** A page with one form, which sends one command of GraphQL (`assets/account.js`). */
interface AccountPage {
  path: string;
  /** The command; the secret of a link, what follows `#`, is part of its input. */
  command: 'setup' | 'signIn' | 'acceptInvitation' | 'resetPassword';
  title: string;
  lead: string;
  fields: readonly Field[];
  submit: string;
}

const newPassword: Field = {
  name: 'password',
  label: 'Password',
  type: 'password',
  autocomplete: 'new-password',
  hint: '12 to 256 characters. A few words that have nothing to do with each other are good.',
};
const name: Field = { name: 'name', label: 'Name', type: 'text', autocomplete: 'name' };
const email: Field = { name: 'email', label: 'E-mail', type: 'email', autocomplete: 'username' };

const accountPages: readonly AccountPage[] = [
  {
    path: '/setup',
    command: 'setup',
    title: 'Make the first account',
    lead: 'It owns the organisation you name here, and administers this server.',
    fields: [
      name,
      email,
      newPassword,
      { name: 'organization_name', label: 'Organisation', type: 'text', autocomplete: 'organization' },
      { name: 'keep_demo', label: 'Keep the demo site', type: 'checkbox', autocomplete: 'off', isOptional: true },
    ],
    submit: 'Create account',
  },
  {
    path: '/sign-in',
    command: 'signIn',
    title: 'Sign in',
    lead: 'With the e-mail and the password of your account on this server.',
    fields: [email, { ...newPassword, autocomplete: 'current-password', hint: '' }],
    submit: 'Sign in',
  },
  {
    path: '/join',
    command: 'acceptInvitation',
    title: 'Join an organisation',
    lead: 'You have been invited. With an account on this server, give its password; otherwise choose a name and a password.',
    fields: [
      { ...name, isOptional: true, hint: 'For a new account' },
      {
        ...newPassword,
        isOptional: true,
        hint: 'Of your account, or a new one of 12 to 256 characters; not needed when you are signed in',
      },
    ],
    submit: 'Join',
  },
  {
    path: '/reset',
    command: 'resetPassword',
    title: 'Choose a new password',
    lead: 'It ends all sessions of your account, and signs you in here.',
    fields: [newPassword],
    submit: 'Change password',
  },
];

const inputOf = ({ name, type, autocomplete, hint, isOptional }: Field, path: string): Html =>
  html`<input id="${name}" name="${name}" type="${type}" autocomplete="${autocomplete}" aria-describedby="${name}-hint ${name}-fault"
${!isOptional && html` required`}${type === 'checkbox' && html` checked`}${type === 'password' && path !== '/sign-in' && html` maxlength="256"`}>
<span class="hint" id="${name}-hint">${hint}</span>
<span class="fault" id="${name}-fault"></span>`;

const row = (field: Field, path: string): Html =>
  field.type === 'checkbox'
    ? html`<div class="field choice"><label for="${field.name}">${field.label}</label> ${inputOf(field, path)}</div>`
    : html`<div class="field"><label for="${field.name}">${field.label}</label>${inputOf(field, path)}</div>`;

/** Pages by path. */
export const accountPagesByPath: ReadonlyMap<string, () => string> = new Map(
  accountPages.map((page) => [
    page.path,
    () =>
      layout({
        title: `${page.title} · Portico`,
        path: page.path,
        styles: ['account.css'],
        scripts: ['account.js'],
        main: html`<div class="column narrow">
<h1>${page.title}</h1>
<p class="fault" role="alert" data-problem></p>
<div data-form>
<p class="lead">${page.lead}</p>
<form data-command="${page.command}" novalidate>
<p class="fault" role="alert"></p>
${page.fields.map((field) => row(field, page.path))}
<button class="primary">${page.submit}</button>
</form>
<p data-provider hidden><a href="/auth/oidc">Sign in with <span data-host></span></a></p>
</div>
<div data-done tabindex="-1" hidden>
<p>You are signed in as <strong data-name></strong>.</p>
<p><a href="/explorer">GraphQL explorer</a> · <a href="/reference">API reference</a></p>
<p data-provider hidden><a href="/auth/oidc?link">Link your account at <span data-host></span></a></p>
<button data-sign-out type="button">Sign out</button>
</div>
<noscript><p>This page needs JavaScript.</p></noscript>
</div>`,
      }),
  ]),
);
