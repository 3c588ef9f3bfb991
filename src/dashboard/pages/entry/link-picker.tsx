import { Modal, Stack, Text, TextInput, UnstyledButton } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useQuery } from 'urql';
import { SearchEntries } from '../../documents.ts';
import { useForm } from '../../fields/form.tsx';
import { linkTo } from '../../lib/media.ts';
import { Waiting } from '../../shell/states.tsx';
import classes from './panel.module.css';

interface LinkPickerProps {
  onClose: () => void;
  onTake: (title: string, address: string) => void;
}

/** Finds an entry of any collection, and gives its address on the site, or the way to its file where it has none. */
export function LinkPicker({ onClose, onTake }: LinkPickerProps) {
  const { t } = useTranslation('entry');
  const { place } = useForm();
  const [text, setText] = useState('');
  const [q] = useDebouncedValue(text.trim(), 150);
  const { organization, project, branch } = place;
  const [{ data, fetching }] = useQuery({
    query: SearchEntries,
    variables: { organization, project, branch, q },
    pause: q === '',
  });
  const found = q === '' ? [] : (data?.project?.studio?.search?.nodes ?? []);
  return (
    <Modal opened onClose={onClose} title={t('link_entry')}>
      <Stack>
        <TextInput
          label={t('search_entries')}
          leftSection={<IconSearch size={16} />}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          data-autofocus
        />
        {fetching && found.length === 0 && <Waiting rows={3} />}
        {q !== '' && !fetching && found.length === 0 && <Text c="dimmed">{t('nothing_found')}</Text>}
        <ul className={classes.rows}>
          {found.map(({ path, title, url, link, slug }) => (
            <li key={path}>
              <UnstyledButton
                className={classes.row}
                onClick={() => onTake(title || slug, linkTo(place, { path, public_path: url, link }))}
              >
                <span dir="auto">{title || slug}</span>
                <small>{url ?? path}</small>
              </UnstyledButton>
            </li>
          ))}
        </ul>
      </Stack>
    </Modal>
  );
}
