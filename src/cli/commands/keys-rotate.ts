import { rewrapDataKeys } from '../../domain/keys/data-keys.ts';
import type { Command } from '../command.ts';

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
