# Completion of infini for fish.
function __infini_next
    set -l words (commandline -opc)
    infini complete $words[2..-1] (commandline -ct) 2>/dev/null
end
complete -c infini -a '(__infini_next)'
