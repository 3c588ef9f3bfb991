import type { AllServices } from '../../domain/services.ts';
import { createResetLink, createUser, disableUser, listUsers } from '../../domain/users/users.operations.ts';
import { maxPerPage } from '../../kernel/paging.ts';
import { type Command, call, optional, UsageError } from '../command.ts';
import { table } from '../screen.ts';

/** All accounts, in their order by name. */
async function* users(services: AllServices) {
  for (let page = 1; ; page++) {
    const found = await call(services, listUsers, { page, per_page: maxPerPage });
    yield* found.items;
    if (!found.has_next_page) return;
  }
}

/** The id of the account with an e-mail. @throws UsageError */
async function idOf(services: AllServices, email: string): Promise<number> {
  for await (const user of users(services)) if (user.email === email.trim().toLowerCase()) return user.id;
  throw new UsageError(`No account has the e-mail ${email}; portico users list shows those there are`);
}

/** `portico users list` */
export const usersList: Command = {
  name: 'users list',
  summary: 'List the accounts of this instance',
  synopsis: '',
  options: {},
  words: [0, 0],
  async run(_words, _values, { open, screen }) {
    const { services } = await open();
    const rows = [['ID', 'E-MAIL', 'NAME', 'ADMINISTRATOR', 'DISABLED']];
    for await (const { id, email, name, instance_admin, disabled_at } of users(services))
      rows.push([String(id), email, name, instance_admin ? 'yes' : '', disabled_at?.slice(0, 10) ?? '']);
    for (const line of table(rows)) screen.print(line);
  },
};

/** `portico users add`: the link alone is the result. */
export const usersAdd: Command = {
  name: 'users add',
  summary: 'Create an account, and print a link by which its person sets a password',
  synopsis: '<e-mail> [--name <text>] [--admin]',
  notes: [
    ['--name <text>', 'default: what stands before @'],
    ['--admin', 'an administrator of this instance'],
  ],
  options: { name: { type: 'string' }, admin: { type: 'boolean' } },
  words: [1, 1],
  async run([email = ''], values, { open, screen }) {
    const { services } = await open();
    const name = optional(values, 'name') ?? email.split('@')[0] ?? email;
    const made = await call(services, createUser, { email, name, instance_admin: values.admin === true });
    screen.print(made.reset_url);
    screen.note(`Account ${made.user.id} for ${made.user.email}. The link works once, until ${made.expires_at}.`);
  },
};

/** `portico users reset`: for a person who cannot sign in any more. */
export const usersReset: Command = {
  name: 'users reset',
  summary: 'Print a link by which a person sets a new password',
  synopsis: '<e-mail>',
  options: {},
  words: [1, 1],
  async run([email = ''], _values, { open, screen }) {
    const { services } = await open();
    const { reset_url, expires_at } = await call(services, createResetLink, { user_id: await idOf(services, email) });
    screen.print(reset_url);
    screen.note(
      `The link works once, until ${expires_at}. Opening it changes nothing; setting a password ends all sessions.`,
    );
  },
};

const switched = (disabled: boolean): Pick<Command, 'synopsis' | 'options' | 'words' | 'run'> => ({
  synopsis: '<e-mail>',
  options: {},
  words: [1, 1],
  async run([email = ''], _values, { open, screen }) {
    const { services } = await open();
    await call(services, disableUser, { user_id: await idOf(services, email), disabled });
    screen.print(`${disabled ? 'Disabled' : 'Enabled'} ${email}`);
  },
});

/** `portico users disable` */
export const usersDisable: Command = {
  name: 'users disable',
  summary: 'Keep a person from signing in, and end their sessions',
  ...switched(true),
};

/** `portico users enable` */
export const usersEnable: Command = {
  name: 'users enable',
  summary: 'Let a person sign in again who was disabled',
  ...switched(false),
};
