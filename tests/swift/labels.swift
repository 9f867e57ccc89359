// Queues with labels of many lengths, one of them longer than what is recorded. Each label is printed as it is.
import Dispatch

/// A label of so many bytes: no two of them have the same beginning, and no two bytes in a row are the same.
func label(_ length: Int) -> String {
    var text = "org.example.\(length)."
    while text.utf8.count < length { text.append("abcdefghijklmnopqrstuvwxyz0123456789-".randomless(text.utf8.count)) }
    return String(text.prefix(length))
}

extension String {
    func randomless(_ number: Int) -> Character { self[index(startIndex, offsetBy: number % 37)] }
}

@main struct Program {
    static func main() {
        for length in [20, 47, 48, 49, 100, 185, 192, 600, 1023, 1024, 1500] {
            let text = label(length)
            let queue = DispatchQueue(label: text)
            print(queue.label)
            queue.sync { print("ran", length) }
            // Two queues whose labels begin alike.
            if length == 600 {
                let other = DispatchQueue(label: text + ".other")
                print(other.label)
                other.sync { print("ran", length) }
            }
        }
    }
}
