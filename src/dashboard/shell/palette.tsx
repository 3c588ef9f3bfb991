import { Combobox, Modal, TextInput, useCombobox } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useEffect, useEffectEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSignOut } from '../lib/sign-out.tsx';
import { MarkedText } from '../parts/marked-text.tsx';
import classes from './palette.module.css';
import { usePaletteItems } from './palette-items.ts';

/** @param opened number of requests to open it; each opens it */
export function Palette({ opened }: { opened: number }) {
  const { t } = useTranslation('frame');
  const [isOpen, setOpen] = useState(false);
  // After it was there closed: only then it knows where the focus was.
  useEffect(() => setOpen(true), [opened]);
  const close = () => setOpen(false);
  const { signOut, dialog } = useSignOut();
  return (
    <>
      {dialog}
      <Modal
        opened={isOpen}
        onClose={close}
        withCloseButton={false}
        padding={0}
        size={600}
        yOffset="12vh"
        centered={false}
        attributes={{ content: { 'aria-label': t('search') } }}
      >
        <PaletteBody onDone={close} onSignOut={() => void signOut()} />
      </Modal>
    </>
  );
}

function PaletteBody({ onDone, onSignOut }: { onDone: () => void; onSignOut: () => void }) {
  const { t } = useTranslation('frame');
  const [words, setWords] = useState('');
  const { groups, isSearching } = usePaletteItems(words, onSignOut);
  const combobox = useCombobox({ opened: true });
  const items = groups.flatMap((group) => group.items);
  const ids = items.map(({ id }) => id).join('\n');
  const selectFirst = useEffectEvent(() => void combobox.selectFirstOption());
  useEffect(() => selectFirst(), [ids]);
  const submit = (id: string) => {
    onDone();
    items.find((item) => item.id === id)?.run();
  };
  return (
    <Combobox store={combobox} onOptionSubmit={submit}>
      <Combobox.EventsTarget withExpandedAttribute>
        <TextInput
          role="combobox"
          variant="unstyled"
          aria-label={t('palette_hint')}
          placeholder={t('palette_hint')}
          value={words}
          maxLength={500}
          onChange={(event) => setWords(event.currentTarget.value)}
          // The list would keep it to itself.
          onKeyDown={(event) => event.key === 'Escape' && !event.nativeEvent.isComposing && onDone()}
          leftSection={<IconSearch size={18} />}
          classNames={{ root: classes.search, input: classes.input }}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
        />
      </Combobox.EventsTarget>
      <p role="status" className="unseen">
        {isSearching ? '' : t('palette_count', { count: items.length })}
      </p>
      <Combobox.Options className={classes.options} aria-label={t('palette_results')}>
        {groups.map(({ name, items }) => (
          <Combobox.Group key={name} label={t(`palette_${name}`)}>
            {items.map(({ id, label, hint }) => (
              <Combobox.Option key={id} value={id} className={classes.option}>
                <span className={classes.label} dir="auto">
                  <MarkedText text={label} />
                </span>
                {hint && (
                  <span className={classes.hint} dir="auto">
                    {hint}
                  </span>
                )}
              </Combobox.Option>
            ))}
          </Combobox.Group>
        ))}
      </Combobox.Options>
      {items.length === 0 && (
        <p className={classes.nothing}>{isSearching ? t('palette_searching') : t('palette_nothing')}</p>
      )}
    </Combobox>
  );
}
