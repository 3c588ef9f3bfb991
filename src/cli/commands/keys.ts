import { checkKeys, countByKek, rewrapDataKeys } from '../../domain/keys/data-keys.ts';
import type { Command } from '../command.ts';
import { table } from '../screen.ts';

const batch = 100;

/** `portico keys rotate`: a new key-encryption key (of AWS KMS: the one the setting names now), and all data keys under it. Interrupted, the next rotation goes on. */
export const keysRotate: Command = {
  name: 'keys rotate',
  summary: 'Add a key-encryption key and move all data keys to it',
  synopsis: '',
  options: {},
  words: [0, 0],
  async run(_words, _values, { open, screen, signal }) {
    const { services, keys, rotateKey } = await open();
    const id = await rotateKey();
    const { provider } = await keys.describe();
    const advice =
      provider === 'local' ? '. Keep a copy of the keyring: a database backup without it cannot be read' : '';
    screen.print(`Active key: ${id}${advice}`);
    let done = 0;
    for (;;) {
      const { moved, left } = await rewrapDataKeys(services.orm.em.fork(), keys, batch);
      done += moved;
      if (left > 0) screen.progress('Moving data keys', `${done}/${done + left}`);
      if (left === 0 || moved === 0) break;
      signal.throwIfAborted();
    }
    screen.print(`Moved ${done} data ${done === 1 ? 'key' : 'keys'}`);
  },
};

/** `portico keys status` */
export const keysStatus: Command = {
  name: 'keys status',
  summary: 'Show the key-encryption keys and how many data keys each holds',
  synopsis: '',
  options: {},
  words: [0, 0],
  async run(_words, _values, { open, screen }) {
    const { services, keys } = await open();
    const em = services.orm.em.fork();
    const counts = await countByKek(em);
    const { provider, location, keys: known } = await keys.describe([...counts.keys()]);
    const { missing, unreadable } = await checkKeys({ kms: keys, em });
    screen.print(`${provider} ${provider === 'local' ? 'keyring' : 'KMS key'} ${location}`);
    const rows = known.map(({ id, state, created_at }) => [
      id,
      state,
      created_at?.toISOString().slice(0, 10) ?? '',
      String(counts.get(id) ?? 0),
    ]);
    const lost = missing
      .filter((id) => !known.some((key) => key.id === id))
      .map((id) => [id, 'missing', '', String(counts.get(id) ?? 0)]);
    for (const line of table([['KEY', 'STATE', 'CREATED', 'DATA KEYS'], ...rows, ...lost])) screen.print(line);
    if (unreadable.length > 0)
      screen.note(`The secrets of ${unreadable.length} organisation(s) cannot be read: ${unreadable[0]?.fault}`);
  },
};
