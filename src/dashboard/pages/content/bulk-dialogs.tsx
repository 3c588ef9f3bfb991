import { Alert, Button, Checkbox, Group, Modal, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useEffect, useEffectEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type CollectionEntryFragment, type CollectionFieldFragment, EntryUses } from '../../documents.ts';
import type { ChangeAction } from '../../lib/changes.ts';
import { client } from '../../lib/client.ts';
import { slugProblem, typedSlug } from '../../lib/entry-slug.ts';
import { type Fault, faultOf } from '../../lib/faults.ts';
import type { Place } from '../../lib/place.ts';
import { DateField } from '../../parts/date-field.tsx';
import { MarkedText } from '../../parts/marked-text.tsx';
import { Waiting } from '../../shell/states.tsx';
import classes from './content.module.css';
import { fieldLabel } from './field-text.ts';

interface DialogProps {
  place: Place;
  collection: string;
  entries: readonly CollectionEntryFragment[];
  /** @returns why it was refused */
  onCommit: (actions: ChangeAction[], message: string) => Promise<Fault | null>;
  onClose: () => void;
}

interface FrameProps {
  title: string;
  action: string;
  isDangerous?: boolean;
  isReady?: boolean;
  /** @returns why it was refused */
  onSubmit: () => Promise<Fault | null>;
  onClose: () => void;
  children: ReactNode;
}

function DialogFrame({ title, action, isDangerous = false, isReady = true, onSubmit, onClose, children }: FrameProps) {
  const { t } = useTranslation();
  const [fault, setFault] = useState<Fault | null>(null);
  const [isSending, setSending] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setSending(true);
    setFault(null);
    const refused = await onSubmit();
    // Without a fault the dialog is gone.
    if (!refused) return;
    setSending(false);
    setFault(refused);
  };
  return (
    <Modal opened onClose={onClose} title={title}>
      <form onSubmit={submit}>
        <Stack>
          {fault && (
            <Alert color="red" role="alert">
              {fault.message}
            </Alert>
          )}
          {children}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose}>
              {t('cancel')}
            </Button>
            <Button type="submit" loading={isSending} disabled={!isReady} {...(isDangerous && { color: 'red' })}>
              {action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

/** Types of fields that one plain value is typed for; a list of texts takes several. */
const inputs: Record<string, 'text' | 'number' | 'date' | 'choice'> = {
  string: 'text',
  text: 'text',
  link: 'text',
  reference: 'text',
  integer: 'number',
  number: 'number',
  date: 'date',
  boolean: 'choice',
  enum: 'choice',
};
const isSettable = ({ type, list }: CollectionFieldFragment): boolean =>
  inputs[type] !== undefined && (!list || inputs[type] === 'text');

function typedValue({ type, list }: CollectionFieldFragment, text: string): unknown {
  if (list)
    return text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
  if (type === 'boolean') return text === 'true';
  return inputs[type] === 'number' ? Number(text) : text;
}

/** Gives one field the same value in all selected entries. */
export function SetDialog({
  collection,
  entries,
  fields,
  onCommit,
  onClose,
}: DialogProps & { fields: readonly CollectionFieldFragment[] }) {
  const { t } = useTranslation('content');
  const settable = fields.filter(isSettable);
  const [name, setName] = useState(settable[0]?.name ?? '');
  const [text, setText] = useState('');
  const [isEmpty, setEmpty] = useState(false);
  const field = settable.find((each) => each.name === name);
  if (!field) return null;
  const options = field.type === 'boolean' ? ['true', 'false'] : (field.options ?? []).map(String);
  const labelOf = (option: string) => (field.type === 'boolean' ? t(option === 'true' ? 'yes' : 'no') : option);
  const isChoice = inputs[field.type] === 'choice' && options.length > 0;
  const given = isChoice ? text || (options[0] ?? '') : text;
  const pointer = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  const change = isEmpty ? { unset: [pointer] } : { frontmatter: { [name]: typedValue(field, given) } };
  const submit = () =>
    onCommit(
      entries.map(({ slug }) => ({ op: 'update', collection, slug, ...change })),
      t('changed', { count: entries.length }),
    );
  return (
    <DialogFrame
      title={t('set_field')}
      action={t('set')}
      isReady={isEmpty || given.trim() !== ''}
      onSubmit={submit}
      onClose={onClose}
    >
      <NativeSelect
        label={t('field')}
        value={name}
        onChange={(event) => {
          setName(event.currentTarget.value);
          setText('');
          setEmpty(false);
        }}
        data={settable.map((each) => ({ value: each.name, label: fieldLabel(each) }))}
        data-autofocus
      />
      {isChoice ? (
        <NativeSelect
          label={t('value')}
          value={given}
          disabled={isEmpty}
          onChange={(event) => setText(event.currentTarget.value)}
          data={options.map((value) => ({ value, label: labelOf(value) }))}
        />
      ) : inputs[field.type] === 'date' ? (
        <DateField label={t('value')} name={t('value')} value={text} disabled={isEmpty} onChange={setText} />
      ) : (
        <TextInput
          label={t('value')}
          type={inputs[field.type]}
          step="any"
          description={field.list ? t('list_hint') : undefined}
          value={text}
          disabled={isEmpty}
          onChange={(event) => setText(event.currentTarget.value)}
          autoComplete="off"
        />
      )}
      {!field.required && (
        <Checkbox
          label={t('set_empty')}
          checked={isEmpty}
          onChange={(event) => setEmpty(event.currentTarget.checked)}
        />
      )}
    </DialogFrame>
  );
}

const lastPart = (slug: string): string => slug.slice(slug.lastIndexOf('/') + 1);

/** Gives one entry another address, or brings several into another folder. */
export function MoveDialog({ collection, entries, onCommit, onClose }: DialogProps) {
  const { t } = useTranslation(['content', 'common']);
  const [only, ...others] = entries;
  const isOne = others.length === 0;
  const slug = only?.slug ?? '';
  const [text, setText] = useState(isOne ? slug : slug.slice(0, Math.max(0, slug.lastIndexOf('/'))));
  const [refusal, setRefusal] = useState<string | null>(null);
  const target = text.trim().replace(/^\/+|(?<!\/)\/+$/g, '');
  const moves = entries
    .map((entry) => ({
      op: 'move' as const,
      collection,
      slug: entry.slug,
      to: isOne ? target : [target, lastPart(entry.slug)].filter(Boolean).join('/'),
    }))
    .filter(({ slug: from, to }) => from !== to);
  const problem = moves.length > 0 ? slugProblem(target) : null;
  const submit = async () => {
    const fault = await onCommit(moves, t('changed', { count: entries.length }));
    // Where the collection has no place for one of the names, that is about what was typed.
    setRefusal((fault && [...fault.fields].find(([pointer]) => pointer.endsWith('/to'))?.[1]) ?? null);
    return fault;
  };
  return (
    <DialogFrame
      title={t('move')}
      action={t('move')}
      isReady={moves.length > 0 && (!isOne || target !== '') && problem === null}
      onSubmit={submit}
      onClose={onClose}
    >
      <TextInput
        label={t(isOne ? 'move_entry' : 'move_many')}
        description={t(isOne ? 'move_entry_hint' : 'move_many_hint')}
        value={text}
        error={problem ? t(problem.key, { characters: problem.characters }) : refusal}
        onChange={(event) => {
          setText(typedSlug(event.currentTarget.value));
          setRefusal(null);
        }}
        autoComplete="off"
        spellCheck={false}
        data-autofocus
      />
    </DialogFrame>
  );
}

interface Use {
  title: string;
  /** Key of the entry that refers to it. */
  user: string;
  userTitle: string;
  required: boolean;
}

/** Uses that the server lists. */
const mostUses = 100;

/** Which entries that stay refer to those that are deleted. @throws Fault */
async function findUses({
  place,
  collection,
  entries,
}: Omit<DialogProps, 'onCommit' | 'onClose'>): Promise<{ uses: Use[]; isCut: boolean }> {
  const { organization, project, draft = null } = place;
  const titles = new Map(entries.map(({ slug, title }) => [slug, title]));
  const variables = { organization, project, draft, collection, slugs: [...titles.keys()] };
  const { data, error } = await client.query(EntryUses, variables, { requestPolicy: 'network-only' }).toPromise();
  if (error) throw faultOf(error);
  const found = data?.project?.studio?.referrers ?? [];
  const uses = found.map((user) => ({
    title: titles.get(user.named) ?? user.named,
    user: `${user.collection}/${user.slug}`,
    userTitle: user.title,
    required: user.required,
  }));
  const distinct = new Map(uses.map((use) => [`${use.title} ${use.user} ${use.required}`, use]));
  return { uses: [...distinct.values()], isCut: found.length === mostUses };
}

/** Deletes the selected entries, after it has said what refers to them. */
export function DeleteDialog({ place, collection, entries, onCommit, onClose }: DialogProps) {
  const { t } = useTranslation(['content', 'common']);
  const [found, setFound] = useState<{ uses: Use[]; isCut: boolean } | null>(null);
  const [fault, setFault] = useState<Fault | null>(null);
  // The dialog is opened anew for other entries.
  const find = useEffectEvent(() => findUses({ place, collection, entries }));
  useEffect(() => {
    let isWanted = true;
    find().then(
      (all) => isWanted && setFound(all),
      (refused) => isWanted && setFault(refused as Fault),
    );
    return () => {
      isWanted = false;
    };
  }, []);
  const uses = found?.uses ?? null;
  const isRequired = uses?.some(({ required }) => required) ?? false;
  const submit = () =>
    onCommit(
      entries.map(({ slug, sha }) => ({ op: 'delete', collection, slug, sha, ...(isRequired && { force: true }) })),
      t('deleted', { count: entries.length }),
    );
  return (
    <DialogFrame
      title={t('delete_title', { count: entries.length })}
      action={t(isRequired ? 'delete_anyway' : 'common:delete')}
      isDangerous
      isReady={uses !== null}
      onSubmit={submit}
      onClose={onClose}
    >
      <ul className={classes.entries}>
        {entries.map(({ slug, title }) => (
          <li key={slug} dir="auto">
            <MarkedText text={title.slice(0, 200)} />
          </li>
        ))}
      </ul>
      {fault && <Alert color="red">{fault.message}</Alert>}
      {!uses && !fault && <Waiting rows={2} />}
      {uses?.length === 0 && <Text size="sm">{t('not_used')}</Text>}
      {uses && uses.length > 0 && (
        <section className={classes.uses} aria-label={t('used_by')}>
          <strong>{t('used_by')}</strong>
          <ul className={classes.entries}>
            {uses.map(({ title, user, userTitle }) => (
              <li key={`${title} ${user}`} title={user} dir="auto">
                {t('use', { title: title.slice(0, 200), user: userTitle.slice(0, 200) })}
              </li>
            ))}
          </ul>
          {found?.isCut && <p>{t('more_uses')}</p>}
          {isRequired && <p>{t('required_uses')}</p>}
        </section>
      )}
      <Text size="sm" c="dimmed">
        {t('delete_lead')}
      </Text>
    </DialogFrame>
  );
}
